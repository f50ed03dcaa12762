# SPDX-License-Identifier: Apache-2.0
"""What a member must remember before it answers: what it approved, what it voted for, and sessions it used.

A member that forgets a vote may vote twice and lose its stake; one that uses a session of collisions twice
might use a nonce twice and lose its share.  `durable.DurableMemory` survives restarts; `VolatileMemory` is
for members that live no longer than their committee: the appointed roster of tests and demonstrations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from blockful_py.errors import NonceReuseError

MAX_NUMBER = 2**63 - 1
"""Largest chain id (EIP-2294 allows no larger one) and epoch that a memory can hold."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """A question that a member answers once: a proposal of an epoch of a committee.

    Attributes:
        chain_id: of the chain that the Committee contract is on.
        committee: address of that contract, 20 bytes.
        epoch: epoch under whose key the proposal is decided.
        proposal: identifier of the proposal, 32 bytes.

    Raises ValueError for other lengths and for numbers above MAX_NUMBER.
    """

    chain_id: int
    committee: bytes
    epoch: int
    proposal: bytes

    def __post_init__(self) -> None:
        if not (0 <= self.chain_id <= MAX_NUMBER and 0 <= self.epoch <= MAX_NUMBER):
            raise ValueError(f"chain id and epoch are in [0, 2^63), not {self.chain_id}, {self.epoch}")
        if (len(self.committee), len(self.proposal)) != (20, 32):
            raise ValueError("a ballot has an address of 20 bytes and a proposal of 32")


class Memory(Protocol):
    """Of one member.  What a method returns is as durable as the memory is when it returns.

    Raises MemoryLostError when it cannot be kept: the member must not answer then.
    """

    def approved(self, ballot: Ballot) -> bytes | None:
        """The content approved under this ballot, 32 bytes; None when there is none."""

    def approve(self, ballot: Ballot, content: bytes) -> bytes:
        """Records an approval.  Returns the content that stands: that of the first call for this ballot."""

    def vote(self, ballot: Ballot, content: bytes) -> bytes:
        """Records a vote.  Returns the content that stands: that of the first call for this ballot."""

    def use_session(self, session: bytes) -> None:
        """Records that nonces are about to be drawn for a session.

        Raises NonceReuseError when that was recorded before, whatever became of the nonces: they are kept
        in the process alone, so a session that a restart interrupts can never be taken up again.
        """


class VolatileMemory:
    """A memory that ends with its process."""

    def __init__(self) -> None:
        self._approvals: dict[Ballot, bytes] = {}
        self._votes: dict[Ballot, bytes] = {}
        self._sessions: set[bytes] = set()

    def approved(self, ballot: Ballot) -> bytes | None:
        return self._approvals.get(ballot)

    def approve(self, ballot: Ballot, content: bytes) -> bytes:
        return self._approvals.setdefault(ballot, content)

    def vote(self, ballot: Ballot, content: bytes) -> bytes:
        return self._votes.setdefault(ballot, content)

    def use_session(self, session: bytes) -> None:
        if session in self._sessions:
            raise used(session)
        self._sessions.add(session)


def used(session: bytes) -> NonceReuseError:
    """The error that every memory raises for a session that it knows."""
    return NonceReuseError(f"session {session.hex()} was begun before; take another identifier.")
