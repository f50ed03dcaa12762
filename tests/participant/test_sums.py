# SPDX-License-Identifier: Apache-2.0
"""Models of sums among machines: every level in both paradigms, with the laboratory's bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from blockful_py.errors import KeyDestroyedError, SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.sums import OWN, held
from blockful_py.learning.weights import Weights, equal
from blockful_py.participant.joining import join
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.shown import checked_in, shown
from blockful_py.types import Checked, Paradigm
from tests.federations import promised, small, trained
from tests.member.leaders import until
from tests.participant.conftest import Machines

LEARNING = {
    "epochs": 20,
    "root_factor": 3,
    "model": "analytic",
    "options": {"features": 16},
    "reveals_samples": True,
}
UNLEARNING = {"parallel": "auto", "sequential": "auto", "blocks": 100_000}


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"learning": LEARNING, "unlearning": UNLEARNING}


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    settings = small(learning=LEARNING, unlearning=UNLEARNING)
    with trained(settings, tmp_path_factory.mktemp("laboratory") / "run", chains) as federation:
        yield federation


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    return machines.publish()


def in_force(federation: Federation) -> dict[str, Weights]:
    return {name: model.weights for name, model in federation.models().items()}


def same(party: PartyRun, laboratory: Federation) -> bool:
    """Whether all current models have the laboratory's bits."""
    ours, theirs = in_force(party.federation), in_force(laboratory)
    return ours.keys() == theirs.keys() and all(equal(ours[name], theirs[name]) for name in ours)


def is_carried_out(party: PartyRun, number: int) -> bool:
    return party.stage(number) is RequestStage.CARRIED_OUT


def test_owners_add_up_what_a_laboratory_adds_up(published: Machines, laboratory: Federation) -> None:
    with published.participants["z"].run() as party:
        assert same(party, laboratory)


@pytest.mark.parametrize("given", [{"discloses": 0.5}, {"auditors": [b"\x01" * 20]}])
def test_an_owner_cannot_promise_checks_of_a_training_that_there_is_not(
    machines: Machines, given: Mapping[str, Any]
) -> None:
    one = machines.participants["a"]
    run = RunDirectory.open(one.folder.run)
    assert run.party is not None
    with pytest.raises(SettingsError, match="Leave out --disclose and --replay-by"):
        join(one.folder, one.keys, machines.file.read_bytes(), run.party.data, one.nodes, **given)
    assert RunDirectory.open(one.folder.run).party == run.party


PARALLEL, SEQUENTIAL = Paradigm
REQUESTS = {
    "a class": (PARALLEL, "s", Forget.of_classes([3]), ("s", "x", "y")),
    "samples of a leaf": (PARALLEL, "z", Forget.of_samples([(5, 0), (5, 2)]), ("z",)),
    "samples": (PARALLEL, "t", Forget.of_samples([(4, 1)]), ("t", "y")),
    "a class, in sequence": (SEQUENTIAL, "t", Forget.of_classes([5]), ("t", "y")),
    "samples, in sequence": (SEQUENTIAL, "s", Forget.of_samples([(3, 0), (3, 1)]), ("s", "x", "y")),
    "a client": (PARALLEL, "b", Forget.of_clients([2]), ("b", "t", "z", "y")),
    "a client, in sequence": (SEQUENTIAL, "a", Forget.of_clients([1]), ("a", "s", "z", "x", "y")),
}
"""By name: the paradigm, the start, the data, and the models that the request reaches."""
QUICK = {"a class"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in REQUESTS]
)
def test_requests_in_turn_give_the_laboratorys_bits(
    published: Machines, laboratory: Federation, name: str
) -> None:
    """The owner of samples alone has a part: members replace all other models."""
    paradigm, start, forget, reached = REQUESTS[name]
    with published.participants[start].run() as party:
        number = (
            party.request((), forget, paradigm, None)
            if forget.owners()
            else party.request((start,), forget, paradigm, None)
        )
        assert party.filed(number).method == "subtract {}"
        assert "exact given the graph" in (party.federation.advice(party.filed(number)).reason or "")
        assert [node.name for node in party.take_part(number)] == [start] * bool(forget.samples)
    laboratory.unlearn(starts=[start], forget=forget, paradigm=paradigm)
    with published.participants["y"].run() as party:
        until(lambda: is_carried_out(party, number))
        assert party.take_part(number) == ()
        assert same(party, laboratory)
        if forget.clients:
            left = party.federation.models()[start].weights
            assert not left[OWN].any() and held(left) == ()
        certificate = party.certificate(number)
        assert {each.name for each in certificate.statement.replaced} == {*reached}
        assert party.federation.verify().passed and party.federation.audit().passed
    record, said = check_certificate(certificate).record, shown(certificate.statement)
    if forget.samples:
        assert checked_in(certificate.statement.request, record.nodes.values()) is Checked.RECOMPUTED
    else:
        assert said.review is Checked.EXACT and said.warnings == ()
        assert said.kind.startswith("Exact given the graph, recomputed: ")


def test_nothing_is_left_of_what_was_forgotten(published: Machines) -> None:
    with published.participants["y"].run() as party:
        assert 3 not in held(party.federation.models()["y"].weights)
        context = party.federation.context
        old = context.history.version(party.federation.catalogue()["y"].position, 0)
        with pytest.raises(KeyDestroyedError):
            context.keys.keyring.find((old.weights,))[old.weights]
    promised(published.contracts)
