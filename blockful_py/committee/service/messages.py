# SPDX-License-Identifier: Apache-2.0
"""Kinds of messages to a member, and the bodies of questions and answers.

round 1       2         3         4       5                 6
vote-publication -> finish-publication
approve    -> commit -> attest -> sign -> vote-redaction -> finish-redaction
keygen-commit, -reveal, -deal, -receive, -answer, -confirm, -finish      (rounds 1 to 7)
keygen-held, -settle                                                     (rounds 8 and 9, elected only)
identify, tell-key, vote-succession, vote-acknowledgement, vote-erasure, vote-motion, witness  (round 1)
recommit, attest-certificate, cosign                                     (round 1, of any decision)
keep-keys, lend-key, destroy-keys                                        (round 1)
has-blocks, keep-blocks, fetch-blocks                                    (round 1)
lead                                                                     (round 1)
read-key                                                                 (round 1, asked by readers)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from blockful_py.committee.certificates import CastVote
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, SignedPledge
from blockful_py.committee.proposals import RedactionChunk, RedactionDraft
from blockful_py.crypto import ecies, envelope
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.threshold.messages import Answer, Commitment, Complaint
from blockful_py.types import Address, Bytes32, Bytes64, Length, Point, Position, Uri

WrappedBytes = Annotated[bytes, Length(envelope.WRAPPED_BYTES, envelope.WRAPPED_BYTES)]
SealedBytes = Annotated[bytes, Length(32 + ecies.OVERHEAD, 32 + ecies.OVERHEAD)]
"""A number modulo n, encrypted to one member."""
MAX_STATEMENT = 1 << 26
"""Bytes of an erasure's statement; `limits` has less for most federations."""


class MessageKind(Enum):
    """Label and round of a question."""

    IDENTIFY = ("identify", 1)
    PUBLICATION = ("vote-publication", 1)
    TELL_KEY = ("tell-key", 1)
    SUCCESSION = ("vote-succession", 1)
    ACKNOWLEDGEMENT = ("vote-acknowledgement", 1)
    ERASURE = ("vote-erasure", 1)
    MOTION = ("vote-motion", 1)
    WITNESS = ("witness", 1)
    RECOMMIT = ("recommit", 1)
    ATTEST_COSIGNING = ("attest-certificate", 1)
    COSIGN = ("cosign", 1)
    APPROVE = ("approve", 1)
    COMMIT = ("commit", 2)
    ATTEST = ("attest", 3)
    SIGN = ("sign", 4)
    REDACTION = ("vote-redaction", 5)
    FINISH_PUBLICATION = ("finish-publication", 2)
    FINISH_REDACTION = ("finish-redaction", 6)
    KEEP_KEYS = ("keep-keys", 1)
    LEND_KEYS = ("lend-keys", 1)
    DESTROY_KEYS = ("destroy-keys", 1)
    READ_KEY = ("read-key", 1)
    HAS_BLOCKS = ("has-blocks", 1)
    KEEP_BLOCKS = ("keep-blocks", 1)
    FETCH_BLOCKS = ("fetch-blocks", 1)
    LEAD = ("lead", 1)
    KEY_COMMIT = ("keygen-commit", 1)
    KEY_REVEAL = ("keygen-reveal", 2)
    KEY_DEAL = ("keygen-deal", 3)
    KEY_RECEIVE = ("keygen-receive", 4)
    KEY_ANSWER = ("keygen-answer", 5)
    KEY_CONFIRM = ("keygen-confirm", 6)
    KEY_FINISH = ("keygen-finish", 7)
    KEY_HELD = ("keygen-held", 8)
    KEY_SETTLE = ("keygen-settle", 9)

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def round(self) -> int:
        return self.value[1]


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
    """Round 3 of a redaction: asks for an attestation of the signers' pledges."""

    session: CollisionSession
    pledges: tuple[SignedPledge, ...]


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
    """Votes on one proposal, to be compared with other votes of the same members."""

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
        key_ids: identifiers of the group keys that it holds shares of.
        encryption_key: secrets for this member are wrapped to this key.
        account: pays for its transactions, 20 bytes.
        voting_key: the key of the address that signs.
        possession: its signature over `eip712.Possession`, for those who put the key into a roster.
    """

    key_ids: tuple[Bytes32, ...]
    encryption_key: Point
    account: Address
    voting_key: Point
    possession: SchnorrSignature


@dataclass(frozen=True, slots=True)
class HeldShare:
    """The member holds a share of the subject's key; `generation` is the digest of the key's charter."""

    generation: Bytes32


@dataclass(frozen=True, slots=True)
class Approval:
    """Approval of a draft; `downloads` is the number of models fetched for the review."""

    downloads: int


@dataclass(frozen=True, slots=True)
class DeliveredKey:
    """The data key of a sealed file, wrapped to the member that gets it."""

    version: Uri
    wrapped: WrappedBytes


@dataclass(frozen=True, slots=True)
class KeyDelivery:
    """Data keys to store, or in an answer, those of the keys asked for that the member has."""

    keys: tuple[DeliveredKey, ...]


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """Asks for the keys of sealed files, wrapped to the one-time key `reply_to`."""

    versions: tuple[Uri, ...]
    reply_to: Point


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Asks for the data key of a model's version, for a reader."""

    position: Position
    version: int


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key, wrapped to the requester."""

    wrapped: WrappedBytes


@dataclass(frozen=True, slots=True)
class Versions:
    """Sealed files whose keys are to be destroyed, or were."""

    versions: tuple[Uri, ...]


@dataclass(frozen=True, slots=True)
class BlockNames:
    """Blocks that the sender has, or in an answer, those of them that the member has."""

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
    """Round 1 of a key generation: the commitment, and a one-time key that shares are encrypted to."""

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
