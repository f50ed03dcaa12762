# SPDX-License-Identifier: Apache-2.0
"""Succession: the outgoing committee certifies the roster of the next epoch to the archive chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee import codec
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import (
    CertificateVoter,
    CommittedVote,
    Cosigning,
    Executor,
    actions_under,
    certify,
    committed_vote,
    unsigned,
)
from blockful_py.committee.memory import Ballot
from blockful_py.committee.polling import Poll, Refusal
from blockful_py.crypto import eip712, merkle
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster
from blockful_py.errors import QuorumError, RefusedError
from blockful_py.types import Action

DST_SUCCESSION = tag("succession")


class HomeLedger(Protocol):
    """The Committee contract, as a member reads it."""

    def roster(self, epoch: int) -> tuple[Roster, int]: ...


class MirrorLedger(Protocol):
    """The QuorumMirror contract."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> bytes:
        """20 bytes."""

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


class SuccessionVoter(CertificateVoter, Protocol):
    """A member of the outgoing committee."""

    def vote_succession(self, succession: Succession) -> CommittedVote: ...


class Outgoing:
    """An outgoing member, which votes only for the roster that the home chain has for the next epoch."""

    def __init__(self, voter: CertificateSigner, home: HomeLedger, mirror: MirrorLedger) -> None:
        """`voter`: of the outgoing roster."""
        self._voter = voter
        self.index = voter.index
        self.address = voter.address
        self.roster = voter.roster
        self.domain = voter.domain
        self._home = home
        self._mirror = mirror

    def vote_succession(self, succession: Succession) -> CommittedVote:
        """Its vote. Raises RefusedError when the home chain has another successor, or none."""
        appointed, _ = self._home.roster(succession.epoch + 1)
        if appointed != succession.roster:
            raise RefusedError(f"epoch {succession.epoch + 1} has another roster on the home chain")
        content = merkle.root([succession.leaf(self._mirror)])
        return self._voter.vote(succession.epoch, succession.proposal(), content)

    def ballot(self, epoch: int, proposal: bytes) -> Ballot:
        """The ballot of a proposal. Raises RefusedError when its epoch or identifier is out of range."""
        return self._voter.ballot(epoch, proposal)

    def recommit(self, epoch: int, proposal: bytes) -> CommittedVote:
        """Its vote once more, with fresh nonces. Raises RefusedError when it has not voted."""
        return self._voter.recommit(epoch, proposal)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        """Its attestation (64 bytes) that it knows no other use of the nonces."""
        return self._voter.attest(cosigning)

    def cosign(self, cosigning: Cosigning) -> int:
        """Its share of the mirror's certificate. Raises RefusedError for another contract."""
        if cosigning.executor != executor_of(self._mirror):
            raise RefusedError("an outgoing member signs certificates for the mirror only")
        return self._voter.cosign(cosigning)


def executor_of(mirror: MirrorLedger) -> Executor:
    """The mirror as a contract that executes."""
    return Executor(mirror.chain_id, mirror.address)


def certify_succession(
    succession: Succession,
    voters: Sequence[SuccessionVoter],
    roster: Roster,
    domain: eip712.Domain,
    mirror: MirrorLedger,
    poll: Poll,
) -> Action:
    """Collects the votes of the outgoing committee, whose `roster` this is.

    Raises QuorumError with their reasons.
    """
    leaf = succession.leaf(mirror)
    certificate = unsigned(succession.epoch, succession.proposal(), merkle.root([leaf]))
    digest = eip712.decision_digest(domain, certificate.epoch, certificate.proposal, certificate.content_hash)
    quorum = roster.quorum
    replies = poll(
        voters, lambda voter: committed_vote(voter, voter.vote_succession(succession), digest, domain), quorum
    )
    votes = {index: vote for index, vote in replies.items() if not isinstance(vote, Refusal)}
    if len(votes) < quorum:
        reasons = [f"member {i}: {each.reason}" for i, each in replies.items() if isinstance(each, Refusal)]
        raise QuorumError(
            f"{len(votes)} of {len(voters)} members of epoch {succession.epoch} vote for its successor, "
            f"{quorum} are needed; repeat when more answer. " + "; ".join(reasons)
        )
    signed = certify(certificate, executor_of(mirror), roster, domain, voters, votes, poll, _unnamed)
    return actions_under(signed, [[leaf]])[0]


def _unnamed(members: Sequence[int], reason: str) -> None:
    """Who fails in a succession stands in the error where too few are left."""
