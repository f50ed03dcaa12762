# SPDX-License-Identifier: Apache-2.0
"""Succession: committees hand over on the archive chain and report it to the home chain.

The outgoing committee certifies the next roster to its mirror.  The incoming committee then certifies to the
home chain that the mirror has reached its epoch, which unlocks the stakes of earlier committees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee import codec
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import (
    CertificateVoter,
    CommittedVote,
    Cosigning,
    actions_under,
    certify,
    committed_vote,
)
from blockful_py.committee.memory import Ballot
from blockful_py.committee.polling import Poll, Refusal
from blockful_py.crypto import eip712, merkle
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster
from blockful_py.errors import QuorumError, RefusedError
from blockful_py.ledger.signed import Executor, unsigned
from blockful_py.types import Action, Address, Bytes32

DST_SUCCESSION = tag("succession")
DST_ACKNOWLEDGEMENT = tag("acknowledgement")


class ChainContract(Protocol):
    """A contract at an address (20 bytes) on a chain."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address: ...


class HomeLedger(ChainContract, Protocol):
    """A committee's contract, as its members read it."""

    def roster(self, epoch: int) -> tuple[Roster, int]: ...

    def acknowledge_leaf(self, epoch: int) -> bytes:
        """Content of a certificate for `acknowledge`."""


class MirrorLedger(ChainContract, Protocol):
    """The QuorumMirror contract."""

    def current_epoch(self) -> int: ...

    def advance_leaf(self, epoch: int, roster: Roster, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `advance(epoch, roster)` in a certificate's content."""


@dataclass(frozen=True, slots=True)
class Succession:
    """The `roster` that follows the committee of `epoch`, for the mirror at an address on a chain."""

    epoch: int
    chain_id: int
    mirror: Address
    roster: Roster

    @classmethod
    def on(cls, mirror: MirrorLedger, epoch: int, roster: Roster) -> Succession:
        return cls(epoch, mirror.chain_id, mirror.address, roster)

    def proposal(self) -> Bytes32:
        """Hash of all inputs of the content, so that one proposal cannot have two contents."""
        return keccak(DST_SUCCESSION + codec.encode(self))

    def leaf(self, mirror: MirrorLedger) -> bytes:
        return mirror.advance_leaf(self.epoch + 1, self.roster)


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A statement by the committee of `epoch` that the mirror at an address on a chain is at its epoch."""

    epoch: int
    chain_id: int
    mirror: Address

    @classmethod
    def of(cls, mirror: MirrorLedger, epoch: int) -> Acknowledgement:
        return cls(epoch, mirror.chain_id, mirror.address)

    def proposal(self) -> Bytes32:
        return keccak(DST_ACKNOWLEDGEMENT + codec.encode(self))


class SuccessionVoter(CertificateVoter, Protocol):
    """A member of an outgoing or an incoming committee."""

    def vote_succession(self, succession: Succession) -> CommittedVote: ...

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote: ...


class MirrorVoter:
    """A member of some epoch that votes only on matters of its own mirror.

    It votes for a roster only if the home chain has the same one for the next epoch.  It acknowledges the
    mirror's epoch only while its own node shows that epoch.
    """

    def __init__(self, voter: CertificateSigner, home: HomeLedger, mirror: MirrorLedger) -> None:
        """Votes with `voter`, a signer in the roster of its epoch."""
        self._voter = voter
        self.index = voter.index
        self.address = voter.address
        self.roster = voter.roster
        self.domain = voter.domain
        self._home = home
        self._mirror = mirror

    def led_by(self, leader: Address) -> MirrorVoter:
        """A copy that answers another leader."""
        return MirrorVoter(self._voter.led_by(leader), self._home, self._mirror)

    def vote_succession(self, succession: Succession) -> CommittedVote:
        """Votes.  Raises RefusedError when the home chain has another successor or none."""
        appointed, _ = self._home.roster(succession.epoch + 1)
        if appointed != succession.roster:
            raise RefusedError(f"epoch {succession.epoch + 1} has another roster on the home chain")
        return self._vote(succession, merkle.root([succession.leaf(self._mirror)]))

    def vote_acknowledgement(self, acknowledgement: Acknowledgement) -> CommittedVote:
        """Votes.  Raises RefusedError while the mirror is at another epoch."""
        shown = self._mirror.current_epoch()
        if shown != acknowledgement.epoch:
            raise RefusedError(f"the mirror is at epoch {shown}, not {acknowledgement.epoch}")
        return self._vote(acknowledgement, self._home.acknowledge_leaf(acknowledgement.epoch))

    def ballot(self, epoch: int, proposal: Bytes32) -> Ballot:
        """The ballot of a proposal. Raises RefusedError when its epoch or identifier is out of range."""
        return self._voter.ballot(epoch, proposal)

    def recommit(self, epoch: int, proposal: Bytes32) -> CommittedVote:
        """Repeats its vote with fresh nonces.  Raises RefusedError when it has not voted."""
        return self._voter.recommit(epoch, proposal)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        """Attests (64 bytes) that it knows no other use of the nonces."""
        return self._voter.attest(cosigning)

    def cosign(self, cosigning: Cosigning) -> int:
        """Its share of a certificate for the mirror or the home committee.

        Raises RefusedError for other contracts.
        """
        if cosigning.executor not in (_executor(self._mirror), _executor(self._home)):
            raise RefusedError("a member without a share signs for the mirror and the committee only")
        return self._voter.cosign(cosigning)

    def _vote(self, about: Succession | Acknowledgement, content: bytes) -> CommittedVote:
        """Votes on a matter of this member's mirror.

        Raises RefusedError for another mirror, and for a second content of a proposal.
        """
        if (about.chain_id, about.mirror) != (self._mirror.chain_id, self._mirror.address):
            raise RefusedError(
                f"this member follows the mirror at 0x{self._mirror.address.hex()} on chain "
                f"{self._mirror.chain_id}, not 0x{about.mirror.hex()} on chain {about.chain_id}"
            )
        return self._voter.vote(about.epoch, about.proposal(), content)


def certify_succession(
    succession: Succession,
    voters: Sequence[SuccessionVoter],
    roster: Roster,
    domain: eip712.Domain,
    mirror: MirrorLedger,
    poll: Poll,
) -> Action:
    """Collects the votes of the outgoing committee, which has this `roster`.

    Raises QuorumError with their reasons.
    """
    leaf = succession.leaf(mirror)
    place = (leaf, _executor(mirror), voters, roster, domain, poll)
    return _certified(succession, lambda voter: voter.vote_succession(succession), *place)


def certify_acknowledgement(
    acknowledgement: Acknowledgement,
    voters: Sequence[SuccessionVoter],
    roster: Roster,
    domain: eip712.Domain,
    home: HomeLedger,
    poll: Poll,
) -> Action:
    """Collects the votes of the incoming committee, which has this `roster`.

    Raises QuorumError with their reasons.
    """
    place = (home.acknowledge_leaf(acknowledgement.epoch), _executor(home), voters, roster, domain, poll)
    return _certified(acknowledgement, lambda voter: voter.vote_acknowledgement(acknowledgement), *place)


def _certified(
    about: Succession | Acknowledgement,
    ask: Callable[[SuccessionVoter], CommittedVote],
    leaf: bytes,
    executor: Executor,
    voters: Sequence[SuccessionVoter],
    roster: Roster,
    domain: eip712.Domain,
    poll: Poll,
) -> Action:
    certificate = unsigned(about.epoch, about.proposal(), merkle.root([leaf]))
    digest = eip712.decision_digest(domain, certificate.epoch, certificate.proposal, certificate.content_hash)
    replies = poll(voters, lambda voter: committed_vote(voter, ask(voter), digest, domain), roster.quorum)
    votes = {index: vote for index, vote in replies.items() if not isinstance(vote, Refusal)}
    if len(votes) < roster.quorum:
        reasons = [f"member {i}: {each.reason}" for i, each in replies.items() if isinstance(each, Refusal)]
        raise QuorumError(
            f"{len(votes)} of {len(voters)} members of epoch {about.epoch} vote for its "
            f"{type(about).__name__.lower()}, {roster.quorum} are needed; repeat when more answer. "
            + "; ".join(reasons)
        )
    signed = certify(certificate, executor, roster, domain, voters, votes, poll, _unnamed)
    return actions_under(signed, [[leaf]])[0]


def _executor(contract: ChainContract) -> Executor:
    return Executor(contract.chain_id, contract.address)


def _unnamed(members: Sequence[int], reason: str) -> None:
    """Blames nobody: the error for too few voters already names the members that failed."""
