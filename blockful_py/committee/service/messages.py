# SPDX-License-Identifier: Apache-2.0
"""Bodies of questions to a member and of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from blockful_py.committee.certificates import CastVote
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, SignedPledge
from blockful_py.committee.proposals import RedactionChunk, RedactionDraft
from blockful_py.crypto import ecies, envelope
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.threshold.messages import Answer, Commitment, Complaint
from blockful_py.ledger.replay import SignedWord
from blockful_py.types import Address, Bytes32, Bytes64, Length, Point, Position, Uri

NOBODY = bytes(20)
"""Recipient of `identify`, since the asker does not know the member's address yet."""
WrappedBytes = Annotated[bytes, Length(envelope.WRAPPED_BYTES, envelope.WRAPPED_BYTES)]
SealedBytes = Annotated[bytes, Length(32 + ecies.OVERHEAD, 32 + ecies.OVERHEAD)]
"""A number modulo n, encrypted to one member."""
MAX_PART, MAX_HEAD = 1 << 17, 1 << 22
"""Maximum bytes of a shared part's entry in a node, and of an opened head."""
MAX_STATEMENT = 1 << 26
"""Maximum bytes of an erasure's statement; `limits` allows less for most federations."""


@dataclass(frozen=True, slots=True)
class Empty:
    """An empty body."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """Round 2 of a redaction: asks for pledged nonces for the draft in this session."""

    draft: RedactionDraft
    session: CollisionSession


@dataclass(frozen=True, slots=True)
class AttestRequest:
    """Round 3 of a redaction: asks for an attestation of the signers' pledges, and of their nonces' sums."""

    session: CollisionSession
    pledges: tuple[SignedPledge, ...]
    nonces: Bytes32


@dataclass(frozen=True, slots=True)
class RelayedAnswers:
    """Envelopes of the members' answers in an earlier round."""

    envelopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignRequest:
    """Round 4 of a redaction: asks for signature shares with attested nonces."""

    draft: RedactionDraft
    nonces: AttestedNonces


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """Round 5 of a redaction: asks for a vote on the draft with these openings."""

    draft: RedactionDraft
    chunks: tuple[RedactionChunk, ...]


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """The statement of an erasure certificate; the subject is its keccak256."""

    statement: Annotated[bytes, Length(1, MAX_STATEMENT)]


@dataclass(frozen=True, slots=True)
class CastVotes:
    """Votes on one proposal, to be compared with other votes by the same members."""

    cast: tuple[CastVote, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal; `kind` is the error's name, `members` are the indices that it names."""

    kind: str
    reason: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """A member's identity, beside the address that signs.

    Attributes:
        key_ids: identifiers of the group keys that it has shares of.
        encryption_key: wraps secrets for this member.
        account: pays for its transactions, 20 bytes.
        voting_key: the key of the signing address.
        possession: its signature over `eip712.Possession`, needed to put the key into a roster.
    """

    key_ids: tuple[Bytes32, ...]
    encryption_key: Point
    account: Address
    voting_key: Point
    possession: SchnorrSignature


@dataclass(frozen=True, slots=True)
class HeldShare:
    """The member has a share of the subject's key; `generation` is the digest of the key's charter."""

    generation: Bytes32


@dataclass(frozen=True, slots=True)
class Approval:
    """Approval of a draft; `downloads` is the number of models fetched for the review."""

    downloads: int


@dataclass(frozen=True, slots=True)
class DeliveredKey:
    """The data key of a sealed file, wrapped to the receiving member."""

    version: Uri
    wrapped: WrappedBytes


@dataclass(frozen=True, slots=True)
class KeyDelivery:
    """Data keys to store, or in an answer, the requested keys that the member has."""

    keys: tuple[DeliveredKey, ...]


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """Asks for the keys of sealed files, wrapped to the one-time key `reply_to`."""

    versions: tuple[Uri, ...]
    reply_to: Point


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Asks for the data key of a model's version, for a reader.

    Attributes:
        request: number of the request for which the version was handed in; 0 for the current version.
        increment: which of the current version's increments, from 1 in the order of the statement; 0 for the
            weights.
    """

    position: Position
    version: int
    request: int = 0
    increment: int = 0


@dataclass(frozen=True, slots=True)
class HeadRequest:
    """Asks all members to open the heads of models whose sums they share.

    Attributes:
        names: of models for a request; of one for its publication, or with a new part.
        request: number of the request for which the models are replaced; 0 for a publication.
        references: places of a model's references, at its publication.
        part: the owner's new part, as canonical JSON (`record.statement_parts.SharedPart`); empty if it does
            not deal anew.
    """

    names: tuple[str, ...]
    request: int
    references: tuple[Position, ...]
    part: Annotated[bytes, Length(0, MAX_PART)]


@dataclass(frozen=True, slots=True)
class HeadAnswer:
    """The heads, as weights in safetensors files; zeros where a pool is too small to open its head."""

    heads: tuple[Annotated[bytes, Length(1, MAX_HEAD)], ...]


@dataclass(frozen=True, slots=True)
class HandOnRequest:
    """Asks the members of an epoch to hand their shares of models' parts on to the current members."""

    names: tuple[str, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class WordsRequest:
    """Asks for the auditors' words on the training with this commitment."""

    commitment: Bytes32


@dataclass(frozen=True, slots=True)
class Words:
    """The auditors' words that a member has heard."""

    words: tuple[SignedWord, ...]


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key, wrapped to the requester."""

    wrapped: WrappedBytes


@dataclass(frozen=True, slots=True)
class Versions:
    """Sealed files whose keys to destroy; in an answer, whose keys were destroyed."""

    versions: tuple[Uri, ...]


@dataclass(frozen=True, slots=True)
class BlockNames:
    """Blocks that the sender has; in an answer, the ones among them that the member has."""

    blocks: tuple[Uri, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote or signature of 64 bytes."""

    vote: Bytes64


@dataclass(frozen=True, slots=True)
class CertificateShare:
    """A member's share of a certificate's signature."""

    share: int


@dataclass(frozen=True, slots=True)
class DealerCommitment:
    """Round 1 of a key generation: the commitment, and a one-time key for the encryption of shares."""

    commitment: Commitment
    sealing_key: Point


@dataclass(frozen=True, slots=True)
class SealedShare:
    """A key share, encrypted to its recipient."""

    recipient: int
    sealed: SealedBytes


@dataclass(frozen=True, slots=True)
class SealedShares:
    """Round 3 of a key generation."""

    boxes: tuple[SealedShare, ...]


@dataclass(frozen=True, slots=True)
class Complaints:
    """Round 4 of a key generation."""

    complaints: tuple[Complaint, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Round 5 of a key generation."""

    answers: tuple[Answer, ...]
