# SPDX-License-Identifier: Apache-2.0
"""A short walk through what `make test-byzantine` does for longer, and faults that it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from blockful_py.committee.certificate_signer import CertificateSigner, PendingNonces
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot, VolatileMemory
from blockful_py.committee.pledges import Pledge, SignedPledge
from blockful_py.committee.service.messages import MessageKind
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.multisignature import NoncePoints
from tests.fuzzing.byzantine import run_case
from tests.fuzzing.byzantine_world import VOTING, World, watched
from tests.fuzzing.honest_leader import HonestLeader
from tests.fuzzing.ledgers import ViolationError
from tests.fuzzing.liars import ANSWERS, GENERATIONS
from tests.fuzzing.schemer import Schemer

CASES = 25
PATIENCE = 300
"""Cases that a planted fault is found in."""


@pytest.mark.parametrize("part", range(5))
def test_honest_members_finish_or_refuse_whatever_the_others_do(part: int) -> None:
    for seed in range(part * CASES // 5, (part + 1) * CASES // 5):
        run_case(seed)


def vote_again(self: VolatileMemory, ballot: Ballot, content: bytes) -> bytes:
    self._votes[ballot] = content
    return content


def give_again(self: PendingNonces, ballot: Ballot, points: NoncePoints) -> tuple[int, int]:
    return self._pairs[ballot, points]


def attest_again(
    self: VolatileMemory, ballot: Ballot, uses: Sequence[tuple[int, int]], digest: bytes
) -> tuple[int, ...]:
    return ()


Plant = Callable[[pytest.MonkeyPatch], None]
FAULTS: dict[str, tuple[Plant, str]] = {
    "members sign for the live chain before the archive has it": (
        lambda patch: patch.setattr(Member, "cosign", lambda self, asked: self._voter.cosign(asked)),
        "before the archive has|what the archive does not",
    ),
    "members vote for two contents": (
        lambda patch: patch.setattr(VolatileMemory, "vote", vote_again),
        "voted twice|two contents",
    ),
    "nonces are kept after an answer": (
        lambda patch: patch.setattr(PendingNonces, "take", give_again),
        "answered with twice",
    ),
    "members answer nonces that nobody attests": (
        lambda patch: patch.setattr(CertificateSigner, "_is_by", lambda *_: True),
        "no quorum attests",
    ),
    "members attest every use of a generation": (
        lambda patch: patch.setattr(VolatileMemory, "attest", attest_again),
        "attests two uses",
    ),
}


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("seed", range(3))
def test_who_lies_in_any_answer_to_an_honest_leader_is_named(kind: MessageKind, seed: int) -> None:
    world = World(4, [1], Random(seed))
    liar = world.places[1].liar
    assert liar is not None
    liar.ways = dict.fromkeys(MessageKind, "honest") | {kind: "wrong"}
    with watched(world):
        leader = HonestLeader(world, 0)
        assert leader.decide(redaction=kind is not MessageKind.PUBLICATION)
    assert kind in liar.wrong
    (named,) = leader.coordinator.excluded.told()
    assert named.startswith("member 1 (0x")
    world.check()


@pytest.mark.parametrize("redaction", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_who_showed_its_nonces_to_one_member_before_stops_no_decision(redaction: bool, seed: int) -> None:
    """That member alone accuses it, and it attests nothing: without it the others agree."""
    world = World(4, [1], Random(seed))
    liar = world.places[1].liar
    assert liar is not None
    silent = (MessageKind.ATTEST, MessageKind.ATTEST_COSIGNING)
    liar.ways = dict.fromkeys(MessageKind, "honest") | dict.fromkeys(silent, "refuse")
    with watched(world):
        Schemer(world).poison()
        assert HonestLeader(world, 0).decide(redaction)
    world.check()


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_generation_that_no_memory_holds_is_no_pledge(generation: int) -> None:
    """Whatever its signature: a leader that has it encoded for one would end there."""
    pledge = Pledge(bytes(32), 1, generation, bytes(32))
    signed = bytes(64)
    if generation < 2**64:
        signed = signature.sign(7, eip712.digest(VOTING, pledge))
    assert not SignedPledge(pledge, signed).is_by(curve.address(curve.multiply_base(7)), VOTING)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    plant, found = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(ViolationError, match=found):
        for seed in range(PATIENCE):
            run_case(seed)
