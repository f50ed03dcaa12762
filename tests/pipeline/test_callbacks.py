# SPDX-License-Identifier: Apache-2.0
"""A federation tells its callbacks about its work, and continues when they fail."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from blockful_py import Callback
from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)
from blockful_py.engine.jobs import JobState
from blockful_py.errors import SettingsError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.request import request_key
from tests.callbacks.test_told import Heard
from tests.federations import AFFECTED, GRAPH, small


class Unhappy(Callback):
    """A callback that raises an error at every call."""

    def training(self, event: ModelTrained) -> None:
        raise KeyError(event.model)

    def publication(self, event: ModelPublished) -> None:
        raise OSError("the disk is full")

    def request(self, event: RequestDone) -> None:
        raise ValueError("no")

    def audit(self, event: AuditDone) -> None:
        raise RuntimeError("no")

    def certificate(self, event: CertificateIssued) -> None:
        raise ZeroDivisionError


class Made(Heard):
    """Remembers its instances."""

    made: ClassVar[list[Made]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)


@pytest.fixture(scope="module")
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="module")
def federation(chains: Nodes, heard: Heard, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """Trained, unlearned, audited and certified, with a callback that fails at each step before the other."""
    directory = tmp_path_factory.mktemp("told") / "run"
    made = Federation.create(small(), directory, nodes=chains, callbacks=[Unhappy(), heard])
    made.train()
    done = made.unlearn()
    made.audit()
    made.certify_erasure(done.request)
    return made


def of(heard: Heard, kind: type) -> list[object]:
    return [event for _, event in heard.events if isinstance(event, kind)]


def test_callbacks_that_fail_lose_no_job(federation: Federation) -> None:
    assert [job.state for job in jobs_of(federation.run)] == [JobState.DONE, JobState.DONE]
    assert federation.verify().passed


def test_each_model_is_told_before_and_after_its_publication(federation: Federation, heard: Heard) -> None:
    trained, published = of(heard, ModelTrained), of(heard, ModelPublished)
    models = federation.catalogue().models
    for kind, told in ((ModelTrained, trained), (ModelPublished, published)):
        names = []
        for event in told:
            assert isinstance(event, kind)
            statement = models[event.model].node.statement
            names.append(event.model)
            assert event.run == federation.run.identity
            assert set(event.references) == set(GRAPH[event.model])
            assert event.user == statement.user
        assert sorted(names) == sorted(GRAPH)
    order = [getattr(event, "model", None) for _, event in heard.events]
    assert all(order.index(name) < len(order) - 1 - order[::-1].index(name) for name in GRAPH)


def test_a_training_is_told_with_its_recipe_and_no_seed(federation: Federation, heard: Heard) -> None:
    for event in of(heard, ModelTrained):
        assert isinstance(event, ModelTrained)
        assert event.settings["epochs"] == 1
        assert (event.settings["model"], event.settings["dataset"]) == ("cnn", "digits")
        assert "seed" not in event.settings


def test_a_request_is_told_with_what_members_checked(federation: Federation, heard: Heard) -> None:
    (event,) = of(heard, RequestDone)
    assert isinstance(event, RequestDone)
    models = federation.catalogue().models
    assert {each.model for each in event.versions} == set(AFFECTED)
    for each in event.versions:
        redaction = models[each.model].node.redaction
        assert redaction is not None and redaction.claims is not None
        assert event.key == request_key(redaction.request).hex()
        assert (each.version, each.weights) == (redaction.version, redaction.weights)
        assert (each.ad_f, each.ad_r) == (redaction.claims.ad_f, redaction.claims.ad_r)
    assert (event.forget, event.starts, event.paradigm) == ("class 3", ("s", "t"), "parallel")
    assert event.seconds["unlearn"] > 0


def test_audit_and_certificate_are_told(federation: Federation, heard: Heard) -> None:
    (audit,), (issued,) = of(heard, AuditDone), of(heard, CertificateIssued)
    assert isinstance(audit, AuditDone) and isinstance(issued, CertificateIssued)
    assert (audit.request, audit.passed, audit.problems) == (None, True, ())
    assert audit.figures["records"] == len(GRAPH) + len(AFFECTED)
    assert audit.digest == federation.contracts.archive.head().hex()
    check_certificate(parse_certificate(issued.document))
    assert set(issued.models) == set(AFFECTED)


def test_settings_name_them_for_later_processes_too(chains: Nodes, tmp_path: Path) -> None:
    Made.made.clear()
    name = f"{Made.__module__}:Made"
    with Federation.create(small(run={"callbacks": (name,)}), tmp_path / "run", nodes=chains) as federation:
        federation.train()
    with Federation.open(tmp_path / "run", nodes=chains) as federation:
        assert federation.audit().passed
    first, second = Made.made
    assert {method for method, _ in first.events} == {"training", "publication"}
    assert [method for method, _ in second.events] == ["audit"]


def test_one_that_cannot_be_made_stops_before_anything_is_made(chains: Nodes, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="callback 'no_such_module:X' cannot be imported"):
        Federation.create(small(run={"callbacks": ("no_such_module:X",)}), tmp_path / "run", nodes=chains)
    assert not (tmp_path / "run").exists()
