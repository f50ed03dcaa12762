# SPDX-License-Identifier: Apache-2.0
"""Retraining by waves among machines: exact, in both paradigms, and nothing auxiliary stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.service.messages import ReadRequest
from blockful_py.committee.vault import Vault
from blockful_py.errors import FormatError, RefusedError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import require_key
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.coordination.reader_keyring import ReaderKeyring
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.model_node import parse_node
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.federations import GRAPH, small
from tests.limits import ANY_SIZE
from tests.member.leaders import until
from tests.member.processes import WORDS
from tests.participant.conftest import Machines

METHODS = {"parallel": "auto", "sequential": "auto"}
BLOCKS = 60


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {**METHODS, "blocks": BLOCKS}}


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    directory = tmp_path_factory.mktemp("laboratory") / "run"
    with Federation.create(small(unlearning=METHODS), directory, nodes=chains) as federation:
        federation.train()
        yield federation


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    return machines.publish()


def weights(federation: Federation) -> dict[str, Weights]:
    models = federation.catalogue().models
    return {name: federation.weights.read(placed.node.weights) for name, placed in models.items()}


def do_parts(machines: Machines, number: int) -> list[str]:
    """Does all parts, each as soon as it is due; returns the models in that order."""
    done: list[str] = []
    while True:
        before = len(done)
        for participant in machines.participants.values():
            with participant.run() as party:
                done += [node.name for node in party.take_part(number)]
        if len(done) == before:
            return done


def is_carried_out(party: PartyRun, number: int) -> bool:
    return party.stage(number) is RequestStage.CARRIED_OUT


@pytest.mark.parametrize(
    ("paradigm", "start", "label", "auxiliary", "affected"),
    [
        pytest.param(*(Paradigm.PARALLEL, "s", 3, {"a", "b", "t"}, {"s", "x", "y"}), marks=pytest.mark.slow),
        pytest.param(
            *(Paradigm.SEQUENTIAL, "t", 4, {"a", "b", "s", "x"}, {"t", "y"}), marks=pytest.mark.processes
        ),
    ],
)
def test_models_are_retrained_in_waves_and_equal_the_laboratorys(
    published: Machines,
    laboratory: Federation,
    paradigm: Paradigm,
    start: str,
    label: int,
    auxiliary: set[str],
    affected: set[str],
) -> None:
    with published.participants[start].run() as party:
        before = weights(party.federation)
        number = party.request((start,), Forget.of_classes([label]), paradigm, None)
        assert party.filed(number).method.startswith("retrain_ahead")
    done = do_parts(published, number)
    assert sorted(done) == sorted(auxiliary | affected)
    with published.participants["z"].run() as party:
        until(lambda: is_carried_out(party, number))
        after = weights(party.federation)
        assert party.federation.verify().passed
        certificate = party.certificate(number)
        status = party.federation.context.docket[number]
        parts = [
            parse_node(party.federation.stores.live.read(uri, ANY_SIZE))
            for uri in status.auxiliary_parts.values()
        ]
    check_certificate(certificate)
    assert {each.name for each in certificate.statement.replaced} == affected
    laboratory.unlearn(starts=[start], classes=[label], paradigm=paradigm)
    expected = weights(laboratory)
    for name in GRAPH:
        assert equal(after[name], expected[name])
        assert equal(after[name], before[name]) == (name not in affected)
    assert {node.name for node in parts} == auxiliary
    digests = {uri.digest for node in parts for uri in node.sealed}
    for member in published.members:
        vault = Vault(member.folder / VAULT, keys_in(member.folder, WORDS).voting_secret)
        until(lambda vault=vault: not digests & vault.versions())


def wait_out(machines: Machines, blocks: int) -> None:
    for _ in range(blocks):
        tick(machines.contracts.live.node)


def test_only_owners_of_parts_below_read_a_clean_model(published: Machines) -> None:
    """z inherits from a and b; t owns no model of the request."""
    with published.participants["z"].run() as party:
        number = party.request(("z",), Forget.of_classes([5]), Paradigm.PARALLEL, None)
        assert party.federation.context.docket[number].auxiliary == ("a", "b")
    with published.participants["a"].run() as party:
        (node,) = party.take_part(number)
    for reader in ("z", "t", "b"):
        with published.participants[reader].run() as party:
            keyring = party.federation.context.keys.keyring
            assert isinstance(keyring, ReaderKeyring)
            wanted = ReadRequest(party.federation.catalogue()["a"].position, 1, number)
            if reader == "z":
                sealed = party.federation.stores.live.stream(node.weights, ANY_SIZE)
                require_key(keyring._read(wanted), sealed, node.weights)
            else:
                with pytest.raises(RefusedError, match=r"asks 0x.* for no part that starts"):
                    keyring._read(wanted)


@pytest.mark.slow
def test_a_clean_model_that_is_unusable_or_missing_is_left_out(published: Machines) -> None:
    """b's owner hands in a's part as its own, then nothing."""
    with published.participants["z"].run() as party:
        (status,) = (each for each in party.federation.context.docket.admitted() if each.stage.is_open)
    stolen = status.auxiliary_parts["a"]
    with published.participants["b"].run() as party:
        registry = party.federation.contracts.participants
        registry.hand_in(status.number, status.record["b"].position, stolen)
    with published.participants["z"].run() as party:
        with pytest.raises(FormatError, match="the part of b is not its owner's"):
            party.take_part(status.number)
        wait_out(published, BLOCKS // 2 + 1)
        assert [node.name for node in party.take_part(status.number)] == ["z"]
        until(lambda: is_carried_out(party, status.number))
        alone = weights(party.federation)["z"]
        redone = party.request(("z",), Forget.of_classes([6]), Paradigm.SEQUENTIAL, None)
    with published.participants["a"].run() as party:
        assert [node.name for node in party.take_part(redone)] == ["a"]
    wait_out(published, BLOCKS + 1)
    with published.participants["b"].run() as party:
        assert party.take_part(redone) == ()
    with published.participants["z"].run() as party:
        assert [node.name for node in party.take_part(redone)] == ["z"]
        assert is_carried_out(party, redone)
        assert not equal(weights(party.federation)["z"], alone)
        assert party.federation.verify().passed


@pytest.mark.slow
def test_an_owner_asks_that_its_samples_be_forgotten(published: Machines) -> None:
    user = 1 + list(GRAPH).index("s")
    with published.participants["s"].run() as party:
        with pytest.raises(UnlearningError, match=f"user {user} has no sample 100000: its rows are 0 to"):
            party.request(("s",), Forget.of_samples([(user, 100_000)]), Paradigm.PARALLEL, None)
        before = weights(party.federation)
        number = party.request(("s",), Forget.of_samples([(user, 0)]), Paradigm.PARALLEL, "gradient_ascent")
        assert [node.name for node in party.take_part(number)] == ["s"]
        until(lambda: is_carried_out(party, number))
        after = weights(party.federation)
        check_certificate(party.certificate(number))
    assert {name for name in GRAPH if not equal(after[name], before[name])} == {"s", "x", "y"}
