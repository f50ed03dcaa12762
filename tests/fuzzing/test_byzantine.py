# SPDX-License-Identifier: Apache-2.0
"""A short version of `make test-byzantine`, with planted faults that it must find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.certificate_signer import PENDING, CertificateSigner
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot, VolatileMemory
from blockful_py.committee.pledges import Pledge, SignedPledge
from blockful_py.committee.service import member_client
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.messages import SignRequest
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.threshold.nonces import NonceStore
from blockful_py.crypto.threshold.signing import SESSIONS
from tests.fuzzing.byzantine import run_case
from tests.fuzzing.byzantine_world import MESSAGES, VOTING, World, watched
from tests.fuzzing.honest_leader import HonestLeader
from tests.fuzzing.ledgers import EPOCH, ViolationError
from tests.fuzzing.liars import GENERATIONS, SHOWN
from tests.fuzzing.schemer import Schemer

CASES = 25
PATIENCE = 300
"""Maximum number of cases until a planted fault is found."""


@pytest.mark.parametrize("part", range(5))
def test_honest_members_finish_or_refuse_whatever_the_others_do(part: int) -> None:
    for seed in range(part * CASES // 5, (part + 1) * CASES // 5):
        run_case(seed)


def vote_again(self: VolatileMemory, ballot: Ballot, content: bytes) -> bytes:
    self._votes[ballot] = content
    return content


def give_again(self: NonceStore[Any], leader: bytes, use: object) -> list[tuple[int, int]]:
    return self._kept[leader][use]


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
        lambda patch: patch.setattr(NonceStore, "take", give_again),
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


class Greedy:
    """Stands between an honest leader and the first member, and asks that member for nonces itself."""

    def __init__(self, world: World) -> None:
        self.world, self.member = world, world.remote(world.schemer)[1]
        self.recommits = self.sessions = self.collisions = 0

    def post(self, url: str, data: bytes, *more: Any) -> bytes:
        line = wire.first_line(data)
        header = wire.open_line(MESSAGES, line).header
        if url == "1" and header.sender == self.world.leader.address:
            if header.kind == MessageKind.COSIGN.label:
                self._recommit(header.subject)
            if header.kind == MessageKind.SIGN.label:
                self._commit(codec.decode(SignRequest, data[len(line) :]))
        return self.world.post(url, data, *more)

    def _recommit(self, proposal: bytes) -> None:
        for _ in range(300):
            self.member.recommit(EPOCH, proposal)
            self.recommits += 1

    def _commit(self, asked: SignRequest) -> None:
        own = replace(asked.nonces.session, leader=self.world.schemer.address)
        for number in range(300):
            salt = number.to_bytes(32, "big")
            given = self.member.commit(asked.draft, replace(own, salt=salt))
            self.sessions, self.collisions = self.sessions + 1, len(given.commitments.pairs)


@pytest.mark.parametrize("kind", sorted(SHOWN, key=lambda kind: kind.label))
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
    """That member alone accuses it and attests nothing; the others agree without it."""
    world = World(4, [1], Random(seed))
    liar = world.places[1].liar
    assert liar is not None
    silent = (MessageKind.ATTEST, MessageKind.ATTEST_COSIGNING)
    liar.ways = dict.fromkeys(MessageKind, "honest") | dict.fromkeys(silent, "refuse")
    with watched(world):
        Schemer(world).poison()
        assert HonestLeader(world, 0).decide(redaction)
    world.check()


@pytest.mark.parametrize("redaction", [False, True])
def test_a_leader_that_asks_without_end_pushes_out_only_its_own(redaction: bool) -> None:
    """Before each answer to an honest leader, another has the first member draw nonces for the same decision.

    A member that lost the honest leader's nonces would be left out and named.
    """
    world = World(4, [], Random(5))
    greedy = Greedy(world)
    with watched(world), pytest.MonkeyPatch.context() as patch:  # the last to patch is the first to undo
        patch.setattr(member_client, "post", greedy.post)
        leader = HonestLeader(world, 0)
        assert leader.decide(redaction)
    assert leader.coordinator.excluded.told() == ()
    member = world.places[1].member
    assert (greedy.recommits, greedy.sessions) == (600, 300 * redaction)
    assert len(member._voter._pending) <= PENDING
    assert len(member._cosigner._signer.nonces) <= SESSIONS * greedy.collisions
    world.check()


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_generation_that_no_memory_holds_is_no_pledge(generation: int) -> None:
    """A leader that encoded such a pledge for its signature check would end there."""
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
