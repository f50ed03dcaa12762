# SPDX-License-Identifier: Apache-2.0
"""Collects votes into a certificate, and derives the actions that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from blockful_py.crypto import eip712, merkle, signature
from blockful_py.errors import CryptoError, RefusedError
from blockful_py.types import Action, Certificate


@dataclass(frozen=True, slots=True)
class CastVote:
    """The vote (64 bytes) of the member at a 1-based index on some content of a proposal."""

    index: int
    content: bytes
    vote: bytes


class Addressed(Protocol):
    """A voter with an address."""

    @property
    def address(self) -> bytes: ...


def signed_vote(member: Addressed, vote: bytes, digest: bytes) -> bytes:
    """The vote of `member`. Raises RefusedError when it is not that member's signature of `digest`."""
    try:
        signer = signature.recover(digest, vote)
    except CryptoError as error:
        raise RefusedError(f"the vote is not a signature: {error}") from None
    if signer != member.address:
        raise RefusedError("the vote is not the member's signature of this decision")
    return vote


def certified_actions(
    epoch: int, proposal: bytes, contents: Sequence[Sequence[bytes]], votes: Mapping[int, bytes], quorum: int
) -> tuple[Action, ...]:
    """One action for each leaf of `contents` (leaves by contract, in order), under one certificate.

    `votes`: by 1-based index; the first `quorum` of them are used.
    """
    voting = sorted(votes)[:quorum]
    certificate = Certificate(
        epoch,
        proposal,
        merkle.root(tuple(chain.from_iterable(contents))),
        sum(1 << (index - 1) for index in voting),
        b"".join(votes[index] for index in voting),
    )
    return actions_under(certificate, contents)


def actions_under(certificate: Certificate, contents: Sequence[Sequence[bytes]]) -> tuple[Action, ...]:
    """One action for each leaf of `contents`. Raises RefusedError unless the certificate covers them."""
    leaves = tuple(chain.from_iterable(contents))
    if not leaves or merkle.root(leaves) != certificate.content_hash:
        raise RefusedError("a certificate covers other content")
    places = [(number, len(content)) for content in contents for number in range(len(content))]
    return tuple(
        Action(certificate, chunk, chunks, tuple(merkle.proof(leaves, place)))
        for place, (chunk, chunks) in enumerate(places)
    )


def votes_in(certificate: Certificate, roster: Sequence[bytes]) -> dict[int, bytes]:
    """Votes (64 bytes) by 1-based index. Raises RefusedError unless there is one for each voter."""
    voting = [index for index in range(1, len(roster) + 1) if certificate.voters >> (index - 1) & 1]
    if certificate.voters >> len(roster) or len(certificate.votes) != 64 * len(voting):
        raise RefusedError("a certificate does not hold one vote for each member that it names")
    return {index: certificate.votes[64 * i : 64 * i + 64] for i, index in enumerate(voting)}


def require_votes(
    certificate: Certificate, roster: Sequence[bytes], quorum: int, domain: eip712.Domain
) -> None:
    """Raises RefusedError unless `quorum` members of the roster signed the decision, and nobody else."""
    votes = votes_in(certificate, roster)
    if len(votes) < quorum:
        raise RefusedError(f"a certificate has {len(votes)} votes, {quorum} are needed")
    digest = eip712.decision_digest(domain, certificate.epoch, certificate.proposal, certificate.content_hash)
    for index, vote in votes.items():
        if not is_signed(roster[index - 1], vote, digest):
            raise RefusedError(f"the vote of member {index} in a certificate is not its signature")


def is_signed(address: bytes, vote: bytes, digest: bytes) -> bool:
    """Whether `vote` is a signature of `digest` by `address`."""
    try:
        return signature.recover(digest, vote) == address
    except CryptoError:
        return False
