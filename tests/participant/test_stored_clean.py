# SPDX-License-Identifier: Apache-2.0
"""Clean models that owners publish for classes at risk: checked, and taken by requests that train nothing.

Everybody holds class 4.  b and t lack class 3, so it reaches a, s, z and x, and y by x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.vault import Vault
from blockful_py.errors import QuorumError
from blockful_py.forget import Forget
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import increments, publishing
from blockful_py.pipeline.jobs.increments import SealedIncrements
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.statement_parts import Claimed, Increment
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.store import ContentStore
from blockful_py.types import Paradigm
from blockful_py.unlearning import retraining
from tests.federations import GRAPH, small
from tests.member.leaders import until
from tests.member.processes import WORDS
from tests.participant.conftest import Machines
from tests.participant.test_waves import do_parts, is_carried_out, weights

pytestmark = pytest.mark.slow

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "federation": {"situation": "label_non_iid", "missing": {"2": (3,), "4": (3,)}},
    "learning": {"increments": (3, 4), "clean_references": True},
    "unlearning": {"parallel": "auto", "sequential": "auto"},
}
REACHED = {3: {"a", "s", "z", "x", "y"}, 4: set(GRAPH)}
Lie = Callable[[Increment], Increment]


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {**SETTINGS, "unlearning": {**SETTINGS["unlearning"], "blocks": 60}}


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    directory = tmp_path_factory.mktemp("laboratory") / "run"
    settings = small(**{section: dict(entries) for section, entries in SETTINGS.items()})
    with Federation.create(settings, directory, nodes=chains) as federation:
        federation.train()
        yield federation


def publish(machines: Machines, name: str) -> None:
    with machines.participants[name].run() as party:
        party.train_next()


@contextmanager
def stating(lie: Lie) -> Iterator[None]:
    """The next statements name other clean models than were made."""
    honest = publishing.seal_increments

    def sealed(*arguments: Any) -> SealedIncrements:
        made = honest(*arguments)
        stated = {name: tuple(map(lie, entries)) for name, entries in made.statements.items()}
        return SealedIncrements(made.files, {name: each for name, each in stated.items() if each})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publishing, "seal_increments", sealed)
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        yield


@pytest.fixture(scope="module")
def begun(machines: Machines) -> Machines:
    """a and b are published."""
    for name in ("a", "b"):
        publish(machines, name)
    return machines


def entries(machines: Machines, name: str) -> tuple[Increment, ...]:
    with machines.participants["a"].run() as party:
        return party.federation.catalogue()[name].node.increments


@pytest.mark.parametrize(
    ("lie", "refused"),
    [
        (
            lambda each: each.model_copy(update={"base": "00" * 32}),
            "is not based on the mean of",
        ),
        (lambda each: each.model_copy(update={"claims": Claimed(ad_f=0.0, ad_r=1.0)}), "claims ad_f=0.0"),
        (lambda each: each.model_copy(update={"claims": None}), "claims None, held-out data give"),
        (lambda each: each.model_copy(update={"label": each.label + 1}), r"of classes not at risk: \[5\]"),
    ],
)
def test_a_clean_model_that_is_stated_wrongly_is_refused(begun: Machines, lie: Lie, refused: str) -> None:
    with stating(lie), pytest.raises(QuorumError, match=refused):
        publish(begun, "s")


def test_a_clean_model_that_is_anothers_file_is_refused(begun: Machines) -> None:
    """Its key would be destroyed, or kept, with another version than its own."""
    theirs = entries(begun, "a")[0].weights
    with (
        stating(lambda each: each.model_copy(update={"weights": theirs})),
        pytest.raises(QuorumError, match=r"model s names .*, a file of a"),
    ):
        publish(begun, "s")


def test_a_clean_model_that_is_missing_is_refused(begun: Machines) -> None:
    """s could not hide that the class has reached it: its reference has a clean model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        patch.setattr("blockful_py.pipeline.jobs.increments.store_clean_models", lambda *_: {3: {}, 4: {}})
        with pytest.raises(QuorumError, match="model of s for class 3 is missing, although a has"):
            publish(begun, "s")


def test_a_clean_model_that_is_the_published_one_is_refused(begun: Machines) -> None:
    def unchanged(settings: Any, models: Any, *others: Any) -> Any:
        (model,) = models
        made = honest(settings, models, *others)
        return {
            label: {name: replace(each, weights=model.weights) for name, each in by_model.items()}
            for label, by_model in made.items()
        }

    honest = increments.store_clean_models
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        patch.setattr(increments, "store_clean_models", unchanged)
        with pytest.raises(QuorumError, match="model of s for class 3 is the published model"):
            publish(begun, "s")


@pytest.fixture(scope="module")
def published(begun: Machines) -> Machines:
    for name in list(GRAPH)[2:]:
        publish(begun, name)
    return begun


def clean_models(federation: Federation) -> dict[tuple[int, str], Weights]:
    return {
        (each.label, name): federation.weights.read(parse_cid(each.weights))
        for name, placed in federation.catalogue().models.items()
        for each in placed.node.increments
    }


def test_owners_publish_the_laboratorys_clean_models(published: Machines, laboratory: Federation) -> None:
    with published.participants["z"].run() as party:
        assert party.federation.verify().passed
        kept, expected = clean_models(party.federation), clean_models(laboratory)
        models = party.federation.catalogue().models
    for label, reached in REACHED.items():
        assert {name for of, name in kept if of == label} == reached
    assert kept.keys() == expected.keys() and all(equal(kept[key], expected[key]) for key in kept)
    for name, placed in laboratory.catalogue().models.items():
        for mine, theirs in zip(models[name].node.increments, placed.node.increments, strict=True):
            assert (mine.base, mine.claims) == (theirs.base, theirs.claims)


@contextmanager
def counting() -> Iterator[list[int]]:
    """The numbers of models that methods train."""
    trained, honest = list[int](), retraining.train_together

    def counted(architecture: Any, jobs: Any, fitter: Any) -> Any:
        trained.append(len(jobs))
        return honest(architecture, jobs, fitter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retraining, "train_together", counted)
        yield trained


def sealed_files(machines: Machines, names: set[str]) -> set[bytes]:
    with machines.participants["a"].run() as party:
        models = party.federation.catalogue().models
        return {uri.digest for name in names for uri in models[name].node.sealed}


def vaults(machines: Machines) -> list[Vault]:
    return [
        Vault(each.folder / VAULT, keys_in(each.folder, WORDS).voting_secret) for each in machines.members
    ]


def carry_out(
    machines: Machines, laboratory: Federation, start: str, label: int, paradigm: Paradigm
) -> tuple[list[str], int]:
    """Carries a request out in both; returns the models with parts, and the number of models trained."""
    with machines.participants[start].run() as party:
        number = party.request((start,), Forget.of_classes([label]), paradigm, None)
    with counting() as trained:
        done = do_parts(machines, number)
    with machines.participants["z"].run() as party:
        until(lambda: is_carried_out(party, number))
        after = weights(party.federation)
        assert party.federation.verify().passed
        check_certificate(party.certificate(number))
    laboratory.unlearn(starts=[start], classes=[label], paradigm=paradigm)
    expected = weights(laboratory)
    assert all(equal(after[name], expected[name]) for name in GRAPH)
    return done, sum(trained)


def stores(machines: Machines) -> list[ContentStore]:
    runs = [each.folder / "run" for each in machines.members]
    runs += [each.folder.run for each in machines.participants.values()]
    return [ContentStore(RunDirectory.open(run).live_store) for run in runs]


def test_a_request_trains_nothing_but_what_nobody_has(published: Machines, laboratory: Federation) -> None:
    """All clean models of ancestors are in the record, so only the affected models' owners do parts."""
    affected = {"t", "y"}
    (lost,) = (parse_cid(each.weights) for each in entries(published, "y") if each.label == 4)
    assert any(lost in store for store in stores(published))
    for store in stores(published):
        store.delete(lost)
    files = sealed_files(published, affected)
    done, trained = carry_out(published, laboratory, "t", 4, Paradigm.SEQUENTIAL)
    assert (done, trained) == (["t", "y"], 1)
    for vault in vaults(published):
        until(lambda vault=vault: not files & vault.versions())
    assert not any(entries(published, name) for name in affected)


@pytest.mark.slow
def test_owners_whom_the_class_has_not_reached_are_asked(published: Machines, laboratory: Federation) -> None:
    """b names no clean model, which the record alone cannot tell from one that is missing."""
    done, trained = carry_out(published, laboratory, "z", 3, Paradigm.PARALLEL)
    assert (done, trained) == (["b", "z"], 0)


@pytest.mark.processes
def test_what_is_not_stored_is_made_by_waves(published: Machines, laboratory: Federation) -> None:
    """y must not know class 4 either, so nobody above it may: stored clean models leave out class 3 alone."""
    with published.participants["y"].run() as party:
        knows_four = party.federation.catalogue()["y"].version == 0
    if knows_four:
        carry_out(published, laboratory, "t", 4, Paradigm.SEQUENTIAL)
    done, trained = carry_out(published, laboratory, "s", 3, Paradigm.PARALLEL)
    assert sorted(done) == ["a", "b", "s", "t", "x", "y"]
    assert trained == len(done)
