# SPDX-License-Identifier: Apache-2.0
"""Callbacks are told in order, and none of them harms the work or the others."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from blockful_py import Callback
from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)
from blockful_py.callbacks.told import METHODS, Callbacks, Event, created
from blockful_py.errors import SettingsError
from blockful_py.learning import plugins
from tests.callbacks.events import ALL, CHILD, ROOT


class Heard(Callback):
    """Records its calls with their arguments."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def training(self, event: ModelTrained) -> None:
        self.events.append(("training", event))

    def publication(self, event: ModelPublished) -> None:
        self.events.append(("publication", event))

    def request(self, event: RequestDone) -> None:
        self.events.append(("request", event))

    def audit(self, event: AuditDone) -> None:
        self.events.append(("audit", event))

    def certificate(self, event: CertificateIssued) -> None:
        self.events.append(("certificate", event))


class Broken(Callback):
    def training(self, event: ModelTrained) -> None:
        raise RuntimeError(f"no room for {event.model}")


class Greedy(Callback):
    def __init__(self, more: str) -> None:
        self.more = more


HERE = Heard.__module__


def test_each_event_goes_to_its_method_in_order() -> None:
    heard = Heard()
    callbacks = Callbacks(given=[heard])
    for event in ALL:
        callbacks.tell(event)
    assert heard.events == [(METHODS[type(event)], event) for event in ALL]
    assert {method for method, _ in heard.events} == {
        name for name in vars(Callback) if not name.startswith("_")
    }


def test_one_that_overrides_nothing_is_told_in_vain(caplog: pytest.LogCaptureFixture) -> None:
    for event in ALL:
        Callbacks(given=[Callback()]).tell(event)
    assert not caplog.records


def test_one_that_raises_is_logged_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    callbacks = Callbacks(given=[Broken(), heard])
    with caplog.at_level(logging.WARNING):
        callbacks.tell(ROOT)
        callbacks.tell(CHILD)
    assert [event for _, event in heard.events] == [ROOT, CHILD]
    assert [record.getMessage() for record in caplog.records] == [
        f"callback Broken.training failed; the work continues: RuntimeError('no room for {name}')"
        for name in ("a", "s")
    ]
    assert all(record.exc_info for record in caplog.records)


def test_one_that_settings_name_is_made_once() -> None:
    callbacks = Callbacks([f"{HERE}:Heard"])
    assert callbacks
    callbacks.make()
    callbacks.make()
    (made,) = callbacks._made
    callbacks.tell(ROOT)
    assert isinstance(made, Heard)
    assert made.events == [("training", ROOT)]


def test_one_that_cannot_be_made_later_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    callbacks = Callbacks(["no_such_module:X", f"{HERE}:Greedy"], [heard])
    with caplog.at_level(logging.WARNING):
        callbacks.tell(ROOT)
        callbacks.tell(CHILD)
    assert [event for _, event in heard.events] == [ROOT, CHILD]
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("callback no_such_module:X cannot be created, and receives no events")
    assert "a class named in settings takes no arguments" in second


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "there is no callback 'nothing'. Known: mlflow; name custom code as"),
        ("no_such_module:X", "callback 'no_such_module:X' cannot be imported"),
        ("tests.callbacks.test_told:Nobody", "cannot be imported"),
        ("tests.callbacks.test_told:Greedy", "a class named in settings takes no arguments"),
        (
            "builtins:dict",
            "'builtins:dict' is not a callback: have the class inherit from",
        ),
    ],
)
def test_what_is_no_callback_is_refused(name: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Callbacks([name]).make()
    assert why in str(caught.value)


def test_a_package_offers_one_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoints((EntryPoint("heard", f"{HERE}:Heard", "blockful.callbacks"),))
    monkeypatch.setattr(plugins, "offered", lambda group: offered.select(group=group))
    assert isinstance(created("heard"), Heard)


def test_without_its_package_mlflow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(SettingsError, match=r"MlflowCallback needs the package mlflow: pip install"):
        created("mlflow")


def test_the_page_shows_every_method() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "track-with-mlflow.md"
    text = page.read_text(encoding="utf-8")
    assert [method for method in METHODS.values() if f"`{method}`" not in text] == []
