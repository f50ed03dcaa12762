# SPDX-License-Identifier: Apache-2.0
"""Succession: the outgoing committee certifies the roster of the next epoch to the archive chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee import codec
from blockful_py.committee.certificates import certified_actions, signed_vote
from blockful_py.committee.polling import Poll, Refusal
from blockful_py.crypto import curve, eip712, merkle, signature
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import QuorumError, RefusedError
from blockful_py.types import Action, Roster

DST_SUCCESSION = tag("succession")


class HomeLedger(Protocol):
    """The Committee contract, as a member reads it."""

    def roster(self, epoch: int) -> tuple[Roster, int]: ...


class MirrorLedger(Protocol):
    """The QuorumMirror contract."""

    def advance_leaf(self, epoch: int, roster: Roster, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `advance(epoch, roster)` in a certificate's content."""


@dataclass(frozen=True, slots=True)
class Succession:
    """The `roster` that follows the committee of `epoch`."""

    epoch: int
    roster: Roster

    def proposal(self) -> bytes:
        """Hash of the content, so that one proposal cannot have two contents."""
        return keccak(DST_SUCCESSION + codec.encode(self))

    def leaf(self, mirror: MirrorLedger) -> bytes:
        return mirror.advance_leaf(self.epoch + 1, self.roster)


class SuccessionVoter(Protocol):
    """A member of the outgoing committee."""

    @property
    def index(self) -> int: ...

    @property
    def address(self) -> bytes: ...

    def vote_succession(self, succession: Succession) -> bytes: ...


class Outgoing:
    """An outgoing member, which votes only for the roster that the home chain has for the next epoch."""

    def __init__(
        self, voting_secret: int, index: int, domain: eip712.Domain, home: HomeLedger, mirror: MirrorLedger
    ) -> None:
        """`index`: its 1-based place in the outgoing roster."""
        self.index = index
        self.address = curve.address(curve.multiply_base(voting_secret))
        self._secret = voting_secret
        self._domain = domain
        self._home = home
        self._mirror = mirror

    def vote_succession(self, succession: Succession) -> bytes:
        """Its vote (64 bytes). Raises RefusedError when the home chain has another successor, or none."""
        appointed, _ = self._home.roster(succession.epoch + 1)
        if appointed != succession.roster:
            raise RefusedError(f"epoch {succession.epoch + 1} has another roster on the home chain")
        content = merkle.root([succession.leaf(self._mirror)])
        digest = eip712.decision_digest(self._domain, succession.epoch, succession.proposal(), content)
        return signature.sign(self._secret, digest)


def certify_succession(
    succession: Succession,
    voters: Sequence[SuccessionVoter],
    quorum: int,
    domain: eip712.Domain,
    mirror: MirrorLedger,
    poll: Poll,
) -> Action:
    """Collects the outgoing committee's votes. Raises QuorumError with their reasons."""
    leaf = succession.leaf(mirror)
    proposal = succession.proposal()
    digest = eip712.decision_digest(domain, succession.epoch, proposal, merkle.root([leaf]))
    replies = poll(
        voters, lambda voter: signed_vote(voter, voter.vote_succession(succession), digest), quorum
    )
    votes = {index: vote for index, vote in replies.items() if not isinstance(vote, Refusal)}
    if len(votes) < quorum:
        reasons = [f"member {i}: {each.reason}" for i, each in replies.items() if isinstance(each, Refusal)]
        raise QuorumError(
            f"{len(votes)} of {len(voters)} members of epoch {succession.epoch} vote for its successor, "
            f"{quorum} are needed; repeat when more answer. " + "; ".join(reasons)
        )
    return certified_actions(succession.epoch, proposal, [[leaf]], votes, quorum)[0]
