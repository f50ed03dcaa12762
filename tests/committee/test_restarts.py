# SPDX-License-Identifier: Apache-2.0
"""A restarted member stands by its earlier answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Memory, VolatileMemory
from blockful_py.committee.pledges import AttestedNonces
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.errors import MemoryLostError, NonceReuseError, RefusedError
from blockful_py.pipeline.run.nodes import Nodes
from tests.colluders import Blind, Conspiracy, attested_by, session_for
from tests.federations import small, trained


@pytest.fixture(scope="module")
def case(
    chains: Nodes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Conspiracy, RedactionDraft]]:
    """A draft that members without checks accept."""
    with trained(small(), tmp_path_factory.mktemp("restarts") / "run", chains) as federation:
        roster = Conspiracy.of(federation)
        models = federation.catalogue().models
        yield roster, roster.draft({models[name].position: models[name].node for name in ("s", "t")})


def restarted(roster: Conspiracy, path: Path) -> tuple[Member, DurableMemory]:
    """Member 1 after a restart: its keys and its memory, without nonces."""
    address = roster.member(roster.shares[0], Blind()).address
    memory = DurableMemory(path, address) if path.exists() else DurableMemory.create(path, address)
    return roster.member(roster.shares[0], Blind(), memory=memory), memory


def test_an_approval_and_a_session_outlive_the_process(
    case: tuple[Conspiracy, RedactionDraft], tmp_path: Path
) -> None:
    roster, draft = case
    (chunk,) = draft.archive
    second = replace(draft, archive=(replace(chunk, timestamp=chunk.timestamp + 1),))
    others = [roster.member(share, Blind()) for share in roster.shares[1:]]
    for other in others:
        other.approve(draft)

    session = session_for(draft, (1, 2, 3, 4))
    member, memory = restarted(roster, tmp_path / "memory.db")
    with memory:
        member.approve(draft)
        pledged = [one.commit(draft, session) for one in (member, *others)]
        attested = attested_by([member, *others], session, pledged)

    member, memory = restarted(roster, tmp_path / "memory.db")
    with memory:
        with pytest.raises(NonceReuseError, match="these nonces are used"):
            member.sign(draft, attested)
        with pytest.raises(NonceReuseError, match="begun before"):
            member.commit(draft, session)
        with pytest.raises(RefusedError, match="approved with other content"):
            member.approve(second)
        fresh = session_for(draft, (1, 2, 3, 4), salt=b"\1" * 32)
        pledged = [one.commit(draft, fresh) for one in (member, *others)]
        assert [each.generation for each in pledged] == [2, 2, 2, 2]
        shares = member.sign(draft, attested_by([member, *others], fresh, pledged))
        assert shares.session == fresh.identifier(roster.domain())


def test_a_session_of_another_draft_is_refused(case: tuple[Conspiracy, RedactionDraft]) -> None:
    roster, draft = case
    member = roster.member(roster.shares[0], Blind())
    member.approve(draft)
    session = session_for(draft, (1, 2, 3))
    for other in (
        replace(session, epoch=session.epoch + 1),
        replace(session, proposal=bytes(32)),
        replace(session, content=bytes(32)),
    ):
        with pytest.raises(RefusedError, match="not about this draft"):
            member.commit(draft, other)
        with pytest.raises(RefusedError, match="not about this draft"):
            member.sign(draft, AttestedNonces(other, (), (), ()))


class Failing(VolatileMemory):
    """A memory that cannot write."""

    def approve(self, ballot: object, content: bytes) -> bytes:
        raise MemoryLostError("the disk is full")

    def use_session(self, session: bytes) -> int:
        raise MemoryLostError("the disk is full")


def test_a_member_that_cannot_remember_does_not_answer(case: tuple[Conspiracy, RedactionDraft]) -> None:
    roster, draft = case
    memory: Memory = Failing()
    member = roster.member(roster.shares[0], Blind(), memory=memory)
    with pytest.raises(MemoryLostError):
        member.approve(draft)
    with pytest.raises(RefusedError, match="is not approved"):
        member.commit(draft, session_for(draft, (1, 2, 3)))


def test_a_proposal_of_an_impossible_epoch_is_refused(case: tuple[Conspiracy, RedactionDraft]) -> None:
    roster, draft = case
    member = roster.member(roster.shares[0], Blind())
    with pytest.raises(RefusedError, match="chain id and epoch"):
        member.approve(replace(draft, epoch=2**63))
