# SPDX-License-Identifier: Apache-2.0
"""A member's memory of approvals, votes, used sessions and seen pledges, all recorded before it answers.

A member that forgets a vote may vote twice and lose its stake.  A member that forgets pledges may let another
reuse a nonce and so reveal its share.  `durable.DurableMemory` survives restarts; `VolatileMemory` is for
members that live as long as their committee: the appointed roster of tests and demonstrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.crypto import eip712
from blockful_py.errors import NonceReuseError, RefusedError
from blockful_py.types import Address, Bytes32

MAX_NUMBER = 2**63 - 1
"""Largest chain id (EIP-2294 allows no larger one) and epoch that a memory can store."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """A decision that a member takes once: about a proposal, in an epoch of a committee.

    Attributes:
        chain_id: chain of the Committee contract.
        committee: address of that contract, 20 bytes.
        epoch: epoch of the members that decide.
        proposal: identifier of the proposal, 32 bytes.

    Raises ValueError for other lengths and for numbers above MAX_NUMBER.
    """

    chain_id: int
    committee: Address
    epoch: int
    proposal: Bytes32

    def __post_init__(self) -> None:
        if not (0 <= self.chain_id <= MAX_NUMBER and 0 <= self.epoch <= MAX_NUMBER):
            raise ValueError(f"chain id and epoch are in [0, 2^63), not {self.chain_id}, {self.epoch}")
        if (len(self.committee), len(self.proposal)) != (20, 32):
            raise ValueError("a ballot has an address of 20 bytes and a proposal of 32")


class Memory(Protocol):
    """The memory of one member.  A method returns only after its record is as durable as the memory.

    Methods raise MemoryLostError when a record cannot be stored; the member must not answer then.
    """

    def approved(self, ballot: Ballot) -> bytes | None:
        """The content (32 bytes) approved under this ballot, or None."""

    def approve(self, ballot: Ballot, content: bytes) -> bytes:
        """Records an approval.  Returns the content of the first approval under this ballot."""

    def vote(self, ballot: Ballot, content: bytes) -> bytes:
        """Records a vote.  Returns the content of the first vote under this ballot."""

    def voted(self, ballot: Ballot) -> bytes | None:
        """The content (32 bytes) voted for under this ballot, or None."""

    def use_session(self, session: bytes) -> int:
        """Records that nonces are about to be drawn for a session.  Returns its number, from 1.

        Raises NonceReuseError when the session is already recorded, even if its nonces were never used:
        nonces exist only in the process, so an interrupted session cannot be resumed.
        """

    def attest(self, ballot: Ballot, uses: Sequence[tuple[int, int]], digest: Bytes32) -> tuple[int, ...]:
        """Records `digest` as the only use of each signer's generation (index, generation) in an epoch.

        Records all or nothing: returns the signers whose generation already has another use.
        """


class VolatileMemory:
    """A memory that is lost when its process ends."""

    def __init__(self) -> None:
        self._approvals: dict[Ballot, bytes] = {}
        self._votes: dict[Ballot, bytes] = {}
        self._sessions: dict[bytes, int] = {}
        self._uses: dict[tuple[int, bytes, int, int, int], bytes] = {}

    def approved(self, ballot: Ballot) -> bytes | None:
        return self._approvals.get(ballot)

    def approve(self, ballot: Ballot, content: bytes) -> bytes:
        return self._approvals.setdefault(ballot, content)

    def vote(self, ballot: Ballot, content: bytes) -> bytes:
        return self._votes.setdefault(ballot, content)

    def voted(self, ballot: Ballot) -> bytes | None:
        return self._votes.get(ballot)

    def use_session(self, session: bytes) -> int:
        if session in self._sessions:
            raise used(session)
        self._sessions[session] = len(self._sessions) + 1
        return len(self._sessions)

    def attest(self, ballot: Ballot, uses: Sequence[tuple[int, int]], digest: Bytes32) -> tuple[int, ...]:
        keys = [(ballot.chain_id, ballot.committee, ballot.epoch, *use) for use in uses]
        others = tuple(key[3] for key in keys if self._uses.get(key, digest) != digest)
        if not others:
            self._uses.update(dict.fromkeys(keys, digest))
        return others


def ballot_of(domain: eip712.Domain, epoch: int, proposal: Bytes32) -> Ballot:
    """The ballot of a proposal; `domain` is the EIP-712 domain of votes.

    Raises RefusedError when the epoch or the identifier is out of range.
    """
    try:
        return Ballot(domain.chain_id, domain.contract, epoch, proposal)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def used(session: bytes) -> NonceReuseError:
    """The error that every memory raises for a session recorded before."""
    return NonceReuseError(f"session {session.hex()} was begun before; take another identifier.")
