# SPDX-License-Identifier: Apache-2.0
"""A family on the record: adopted, changed, reached, asked to forget, withdrawn, certified, made again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import AdoptionPlan, plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.callbacks.events import Callback, ModelPublished
from blockful_py.errors import QuorumError, SettingsError, UnlearningError
from blockful_py.explorer.affected import reached, remedies_at
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.model_page import model_document
from blockful_py.explorer.watched import Watched, watched_run
from blockful_py.forget import Forget
from blockful_py.graph.kinds import EdgeKind, Remedy
from blockful_py.member.endpoints import Urls
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.reach import kinds_of, known_datasets, reach, starts_of
from blockful_py.record.shown import WITHDRAWN, shown
from blockful_py.settings import Settings
from tests.adopt.model_folders import write_adapter, write_card, write_family, write_merge, write_model


@pytest.fixture
def record(tmp_path: Path, chains: Nodes) -> Iterator[Federation]:
    settings = Settings.load(None, [*SETTINGS, "chain.packaging_interval=0"])
    with Federation.create(settings, tmp_path / "run", nodes=chains) as federation:
        yield federation


class Told(Callback):
    def __init__(self) -> None:
        self.published: list[ModelPublished] = []

    def publication(self, event: ModelPublished) -> None:
        self.published.append(event)


def test_a_callback_is_told_of_adopted_models_without_an_accuracy(chains: Nodes, tmp_path: Path) -> None:
    told = Told()
    settings = Settings.load(None, [*SETTINGS, "chain.packaging_interval=0"])
    with Federation.create(settings, tmp_path / "run", nodes=chains, callbacks=[told]) as record:
        _adopt(record, write_family(tmp_path / "family"))
    assert len(told.published) == 8
    assert {event.accuracy for event in told.published} == {None}


def _adopt(record: Federation, root: Path) -> AdoptionPlan:
    plan = plan_adoption(read_folder(root), record.catalogue())
    publish(record, plan, Silent())
    return plan


def _forget(record: Federation, *names: str) -> set[str]:
    return set(record.unlearn(forget=Forget.of_datasets(names)).nodes)


def test_a_family_forgets_a_data_set_and_comes_back_without_it(record: Federation, tmp_path: Path) -> None:
    family = write_family(tmp_path / "family")
    assert len(_adopt(record, family).models) == 8
    catalogue = record.catalogue()
    assert kinds_of(catalogue["eve--mix"].node) == {
        "lab--base": EdgeKind.MERGE,
        "ann--law": EdgeKind.MERGE,
        "lab--other": EdgeKind.MERGE,
    }
    again = _adopt(record, family)
    assert (again.models, len(again.unchanged), again.refused) == ((), 7, {})

    found = reach(catalogue, ["cases"])
    assert found.starts == ("ann--law",)
    assert found.remedies == {
        "ann--law": Remedy.WITHDRAWN,
        "eve--mix": Remedy.RECOMPUTED,
        "eve--mix-4bit": Remedy.RECOMPUTED,
    }
    done = record.unlearn(forget=Forget.of_datasets(["cases"]))
    assert done.nodes.keys() == found.remedies.keys()
    assert record.verify().passed
    assert record.audit().passed
    certificate = record.certify_erasure(done.request)
    check_certificate(parse_certificate(certificate.to_bytes()))
    assert shown(certificate.statement).kind == WITHDRAWN
    assert not reach(record.catalogue(), ["cases"]).remedies
    repeated = _adopt(record, family)
    assert (repeated.models, repeated.refused) == ((), {}), "what was withdrawn stays so, and is no error"

    write_merge(family / "eve" / "mix", 50, {"lab/base": 0.5, "lab/other": 0.5})
    write_model(family / "eve" / "mix-4bit", 60, base_model="eve/mix", base_model_relation="quantized")
    plan = _adopt(record, family)
    assert {each.name: (each.parents, each.supersedes) for each in plan.models} == {
        "eve--mix.v2": (("lab--base", "lab--other"), "eve--mix"),
        "eve--mix-4bit.v2": (("eve--mix.v2",), "eve--mix-4bit"),
    }
    assert record.verify().passed
    assert _shown_later(record, tmp_path) == {"eve--mix": ["eve--mix.v2"], "eve--mix.v2": []}


def test_a_slerp_is_withdrawn_with_one_of_its_models(record: Federation, tmp_path: Path) -> None:
    family = write_family(tmp_path / "family")
    write_merge(family / "kim" / "arc", 70, {"lab/other": 1.0, "ann/law": 1.0}, "slerp")
    _adopt(record, family)
    found = reach(record.catalogue(), ["cases"]).remedies
    assert (found["kim--arc"], found["eve--mix"]) == (Remedy.WITHDRAWN, Remedy.RECOMPUTED)
    start = record.catalogue()["ann--law"].position.packed
    with _indexed(record, tmp_path) as (_, connection):
        work = remedies_at(connection, reached(connection, [start]))
    assert work == {record.catalogue()[name].position.packed: each for name, each in found.items()}


@contextmanager
def _indexed(record: Federation, folder: Path) -> Iterator[tuple[Watched, sqlite3.Connection]]:
    """The record as the explorer reads it."""
    contracts = record.contracts
    urls = Urls(contracts.live.node.url, contracts.archive.node.url)
    with (
        watched_run(record.run.path, urls, folder / "events") as watched,
        RecordIndex(folder / "index.sqlite", watched.sources()) as index,
    ):
        index.follow()
        with IndexReader(folder / "index.sqlite").moment() as connection:
            yield watched, connection


def _shown_later(record: Federation, folder: Path) -> dict[str, list[str]]:
    """The later versions that the explorer's pages of two models name."""
    with _indexed(record, folder) as (watched, connection):
        return {
            name: [each["name"] for each in model_document(connection, watched, name, False)["later"]]
            for name in ("eve--mix", "eve--mix.v2")
        }


def test_a_withdrawn_model_does_not_come_back_under_another_name(record: Federation, tmp_path: Path) -> None:
    family = write_family(tmp_path / "family")
    _adopt(record, family)
    _forget(record, "cases")
    (family / "ann" / "law").rename(family / "ann" / "justice")
    write_adapter(family / "dan" / "law", 90, "ann/law")
    write_adapter(family / "kim" / "law", 91, "lab/base", datasets=["cases"])
    write_model(family / "kim" / "heir", 92, base_model="dan/law")
    plan = _adopt(record, family)
    assert not plan.models
    assert "is of ann--law, which was withdrawn" in plan.refused["ann/justice"]
    assert "its parent ann/law was withdrawn" in plan.refused["dan/law"]
    assert "its parent dan/law was withdrawn" in plan.refused["kim/heir"]
    assert "names cases, which a request made models forget" in plan.refused["kim/law"]


def test_a_card_that_names_its_data_later_reaches_the_heirs(record: Federation, tmp_path: Path) -> None:
    write_model(tmp_path / "f" / "base", 1)
    write_model(tmp_path / "f" / "heir", 2, base_model="base")
    write_model(tmp_path / "f" / "stranger", 3, base_model="far/away")
    _adopt(record, tmp_path / "f")
    write_card(tmp_path / "f" / "base", datasets=["late"])
    write_model(tmp_path / "f" / "far" / "away", 4, datasets=["late"])
    plan = _adopt(record, tmp_path / "f")
    assert sorted(each.name for each in plan.models) == ["base.v2", "far--away.v2"]
    assert set(starts_of(record.catalogue(), ["late"])) == {"base", "base.v2", "far--away", "far--away.v2"}
    assert _forget(record, "late") == {
        *("base", "base.v2", "heir", "far--away", "far--away.v2", "stranger"),
    }


def test_members_refuse_to_withdraw_some_alone(record: Federation, tmp_path: Path) -> None:
    _adopt(record, write_family(tmp_path / "family"))
    assert known_datasets(record.catalogue())["books"] == 2
    with pytest.raises(QuorumError, match=r"zoe--story would not be withdrawn"):
        record.unlearn(["lab--other"], forget=Forget.of_datasets(["books"]))
    assert len(record.catalogue().with_weights) == 8


def test_only_data_sets_are_forgotten_and_only_by_withdrawal(record: Federation, tmp_path: Path) -> None:
    _adopt(record, write_family(tmp_path / "family"))
    with pytest.raises(UnlearningError, match="names data sets"):
        record.unlearn(["lab--base"], classes=[3])
    with pytest.raises(UnlearningError, match="names data sets"):
        record.unlearn(forget=Forget.of_datasets(["wiki"]), method="retrain_ahead")
    with pytest.raises(UnlearningError, match="no model of this record names dataset nothing"):
        record.unlearn(forget=Forget.of_datasets(["nothing"]))
    with pytest.raises(SettingsError, match="trains none"):
        record.train()


def test_a_request_of_data_sets_is_signed_as_typed_data(record: Federation, tmp_path: Path) -> None:
    _adopt(record, write_family(tmp_path / "family"))
    file = record.draft_request(forget=Forget.of_datasets(["wiki", "letters"]))
    document = file.typed_data
    text = json.dumps(document)
    assert "DatasetRequest" in text
    assert '"datasets": ["letters", "wiki"]' in text
