# SPDX-License-Identifier: Apache-2.0
"""Certificates: signatures of voters together for one contract, and the actions that they allow there.

A member first votes on its own; two different votes on one proposal convict it.  With its vote it pledges
nonces for one certificate.  A quorum attests the pledges of all voters (see `pledges`).  Each voter then
gives its share of the signature, only for the content it voted for and only after it has seen that a quorum
did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import methodcaller
from typing import Protocol

from blockful_py.committee.disputes import Trials, settle
from blockful_py.committee.pledges import SignedAttestation, SignedPledge, attestation_digest, pairs_digest
from blockful_py.committee.polling import Poll, Refusal, refuted
from blockful_py.crypto import curve, eip712, merkle, multisignature, signature
from blockful_py.crypto.multisignature import NoncePoints
from blockful_py.crypto.roster import Roster, bits
from blockful_py.errors import CheaterError, QuorumError, RefusedError
from blockful_py.ledger.signed import Executor, digest_of, unsigned
from blockful_py.types import Action, Address, Bytes32, Bytes64, Certificate


@dataclass(frozen=True, slots=True)
class CastVote:
    """The vote (64 bytes) of the member with a 1-based index, for some content of a proposal."""

    index: int
    content: Bytes32
    vote: Bytes64


@dataclass(frozen=True, slots=True)
class CommittedVote:
    """A vote (64 bytes), with nonces pledged to one certificate of it.

    The pledge's session is the digest that the vote signs.
    """

    vote: Bytes64
    nonces: NoncePoints
    pledge: SignedPledge


@dataclass(frozen=True, slots=True)
class Cosigning:
    """Request to the voters of a certificate for their shares of its signature.

    Attributes:
        votes: votes on one content, by ascending index.
        nonces, pledges: one of each voter, in the same order.
        attestations: of the pledges; empty in a request for attestations.
    """

    epoch: int
    proposal: Bytes32
    executor: Executor
    votes: tuple[CastVote, ...]
    nonces: tuple[NoncePoints, ...]
    pledges: tuple[SignedPledge, ...]
    attestations: tuple[SignedAttestation, ...] = ()

    @property
    def certificate(self) -> Certificate:
        """The certificate to be signed.  Raises RefusedError unless all votes are for one content."""
        contents = {each.content for each in self.votes}
        if len(contents) != 1 or not len(self.nonces) == len(self.pledges) == len(self.votes):
            raise RefusedError("a certificate has votes on one content, and pledged nonces of each voter")
        voters = bits(each.index for each in self.votes)
        return replace(unsigned(self.epoch, self.proposal, contents.pop()), voters=voters)


Blame = Callable[[Sequence[int], str], None]
"""Called with the members that failed in a round they had agreed to, and the reason."""


class CertificateVoter(Protocol):
    """A member that has voted.  Methods raise CommitteeError or CryptoError when it refuses."""

    @property
    def index(self) -> int:
        """1-based place in the roster."""

    @property
    def address(self) -> Address:
        """Voting address, 20 bytes."""

    def recommit(self, epoch: int, proposal: Bytes32) -> CommittedVote:
        """Repeats its vote on a proposal with fresh nonces."""

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        """Attests (64 bytes) that it knows no other use of the nonces."""

    def cosign(self, cosigning: Cosigning) -> int:
        """Its share of a certificate's signature."""


def signed_vote(member: CertificateVoter, vote: Bytes64, digest: Bytes32) -> bytes:
    """Checks and returns the vote of `member`.  Raises CheaterError unless `member` signed `digest`."""
    if not signature.is_by(member.address, digest, vote):
        raise CheaterError([member.index], "the signature of this decision")
    return vote


def committed_vote(
    member: CertificateVoter, vote: CommittedVote, digest: Bytes32, domain: eip712.Domain
) -> CommittedVote:
    """Checks and returns the vote of `member` on `digest`.

    Raises CheaterError unless `member` signed the vote and the pledge of its nonces.
    """
    signed_vote(member, vote.vote, digest)
    if not all(map(curve.on_curve, vote.nonces)):
        raise CheaterError([member.index], "a nonce")
    pledge = vote.pledge.pledge
    expected = (digest, member.index, pair_digest(vote.nonces))
    if (pledge.session, pledge.signer, pledge.nonces) != expected or not vote.pledge.is_by(
        member.address, domain
    ):
        raise CheaterError([member.index], "the pledge of nonces")
    return vote


def pair_digest(nonces: NoncePoints) -> bytes:
    """keccak256 of D and E, compressed; a pledge of one pair commits to it."""
    return pairs_digest((nonces,))


def attestation_of(cosigning: Cosigning, domain: eip712.Domain) -> bytes:
    """The digest that members sign to attest the pledges of a certificate, which fix its nonces."""
    certified = digest_of(cosigning.certificate, cosigning.executor, domain)
    pledges = [each.pledge for each in cosigning.pledges]
    return attestation_digest(domain, certified, pledges, bytes(32))


def certify(
    certificate: Certificate,
    executor: Executor,
    roster: Roster,
    domain: eip712.Domain,
    members: Sequence[CertificateVoter],
    votes: Mapping[int, CommittedVote],
    poll: Poll,
    blame: Blame,
) -> Certificate:
    """Has the members that voted for an unsigned certificate sign it for `executor`.

    `votes`: by 1-based index.  A member that refuses or answers wrongly is left out, and the others start
    again with fresh nonces; they also try without members that others accuse.  Raises QuorumError with all
    reasons when too few members remain.
    """
    voting, reasons = dict(votes), list[str]()
    trials, doubted = Trials(), frozenset[int]()
    by_index = {member.index: member for member in members}
    while True:
        signers, standing = sorted(voting), {*voting, *doubted}
        failed: dict[int, object] = {}
        try:
            if len(voting) < roster.quorum:
                raise QuorumError(
                    f"{len(voting)} members sign the certificate, {roster.quorum} are needed; nothing was "
                    "changed. " + "; ".join(reasons)
                )
            cosigning = Cosigning(
                certificate.epoch,
                certificate.proposal,
                executor,
                tuple(CastVote(index, certificate.content_hash, voting[index].vote) for index in signers),
                tuple(voting[index].nonces for index in signers),
                tuple(voting[index].pledge for index in signers),
            )
            attestations = _attested(cosigning, roster, domain, members, poll, blame)
            cosigning = replace(cosigning, attestations=attestations)
            asked = [by_index[index] for index in signers]
            replies = poll(asked, methodcaller("cosign", cosigning), len(asked))
            failed = {index: each.reason for index, each in replies.items() if isinstance(each, Refusal)}
            if not failed:
                shares = [each for each in replies.values() if not isinstance(each, Refusal)]
                return _signed(cosigning, roster, domain, shares)
        except CheaterError as error:
            failed = dict.fromkeys(error.members, f"{error.what} does not check out")
        except QuorumError as error:
            doubted = trials.after(error)
        for index, reason in failed.items():
            blame([index], str(reason))
            reasons.append(f"member {index}: {reason}")
        left = [by_index[index] for index in sorted(standing - failed.keys() - doubted)]
        voting = recommitted(certificate, domain, left, poll, len(left), blame)


def recommitted(
    certificate: Certificate,
    domain: eip712.Domain,
    members: Sequence[CertificateVoter],
    poll: Poll,
    needed: int,
    blame: Blame,
) -> dict[int, CommittedVote]:
    """Collects repeated votes with fresh nonces, by 1-based index, from voters for a certificate."""
    decision = (certificate.epoch, certificate.proposal)
    digest = eip712.decision_digest(domain, *decision, certificate.content_hash)

    def ask(member: CertificateVoter) -> CommittedVote:
        return committed_vote(member, member.recommit(*decision), digest, domain)

    replies = poll(members, ask, needed)
    _blame_refuted(replies, blame)
    return {index: each for index, each in replies.items() if not isinstance(each, Refusal)}


def _attested(
    cosigning: Cosigning,
    roster: Roster,
    domain: eip712.Domain,
    members: Sequence[CertificateVoter],
    poll: Poll,
    blame: Blame,
) -> tuple[SignedAttestation, ...]:
    """Attestations of the pledges by a quorum.

    Raises CheaterError with the voters that more members accuse than can be faulty.  Otherwise, raises
    QuorumError with the members' reasons when too few attest.
    """
    digest = attestation_of(cosigning, domain)
    replies = poll(
        members,
        lambda member: signed_vote(member, member.attest_cosigning(cosigning), digest),
        roster.quorum,
    )
    _blame_refuted(replies, blame)
    attesting = {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
    if len(attesting) >= roster.quorum:
        return tuple(SignedAttestation(i, attesting[i]) for i in sorted(attesting)[: roster.quorum])
    raise settle(
        replies,
        [each.index for each in cosigning.votes],
        len(roster.keys) - roster.quorum,
        f"{len(attesting)} members attest the nonces of a certificate, {roster.quorum} are needed; nothing "
        "was changed. ",
    )


def _signed(
    cosigning: Cosigning, roster: Roster, domain: eip712.Domain, shares: Sequence[int]
) -> Certificate:
    certificate = cosigning.certificate
    keys = [roster.keys[each.index - 1] for each in cosigning.votes]
    digest = digest_of(certificate, cosigning.executor, domain)
    try:
        made = multisignature.combine(keys, digest, cosigning.nonces, shares)
    except CheaterError as error:
        places = [cosigning.votes[place - 1].index for place in error.members]
        raise CheaterError(places, "the share of a certificate") from None
    return replace(certificate, nonce=made.nonce, s=made.s)


def _blame_refuted(replies: Mapping[int, object], blame: Blame) -> None:
    for index, reason in refuted(replies):
        blame([index], reason)


def actions_under(certificate: Certificate, contents: Sequence[Sequence[bytes]]) -> tuple[Action, ...]:
    """One action for each leaf of `contents` (leaves by contract, in order).

    Raises RefusedError unless the certificate covers the leaves.
    """
    leaves = tuple(chain.from_iterable(contents))
    if not leaves or merkle.root(leaves) != certificate.content_hash:
        raise RefusedError("a certificate covers other content")
    places = [(number, len(content)) for content in contents for number in range(len(content))]
    return tuple(
        Action(certificate, chunk, chunks, tuple(merkle.proof(leaves, place)))
        for place, (chunk, chunks) in enumerate(places)
    )
