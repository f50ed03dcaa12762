# SPDX-License-Identifier: Apache-2.0
"""What a member can be asked, and the bodies of questions and answers.

round 1       2         3       4                 5
vote-publication -> finish-publication
approve    -> commit -> sign -> vote-redaction -> finish-redaction
keygen-commit, -reveal, -deal, -receive, -answer, -confirm, -finish      (rounds 1 to 7)
keygen-held, -settle                                                     (rounds 8 and 9, elected only)
identify, tell-key, vote-succession, vote-erasure, vote-motion, witness  (round 1)
keep-keys, lend-key, destroy-keys                                        (round 1)
read-key                                                                 (round 1, asked by readers)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from blockful_py.committee.certificates import CastVote
from blockful_py.committee.proposals import RedactionChunk, RedactionDraft
from blockful_py.crypto.threshold.messages import Answer, Commitment, Complaint
from blockful_py.types import Point, Position, Uri


class MessageKind(Enum):
    """Kind and round of a question."""

    IDENTIFY = ("identify", 1)
    PUBLICATION = ("vote-publication", 1)
    TELL_KEY = ("tell-key", 1)
    SUCCESSION = ("vote-succession", 1)
    ERASURE = ("vote-erasure", 1)
    MOTION = ("vote-motion", 1)
    WITNESS = ("witness", 1)
    APPROVE = ("approve", 1)
    COMMIT = ("commit", 2)
    SIGN = ("sign", 3)
    REDACTION = ("vote-redaction", 4)
    FINISH_PUBLICATION = ("finish-publication", 2)
    FINISH_REDACTION = ("finish-redaction", 5)
    KEEP_KEYS = ("keep-keys", 1)
    LEND_KEY = ("lend-key", 1)
    DESTROY_KEYS = ("destroy-keys", 1)
    READ_KEY = ("read-key", 1)
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
    """Round 2 of a redaction: nonces for the draft in this session, please."""

    draft: RedactionDraft
    session: bytes


@dataclass(frozen=True, slots=True)
class RelayedAnswers:
    """Envelopes of what members answered to an earlier round."""

    envelopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignRequest:
    """Round 3 of a redaction: shares under the sum of these nonces, as their signers signed them."""

    draft: RedactionDraft
    commitments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """Round 4 of a redaction: a vote on the draft with these openings."""

    draft: RedactionDraft
    chunks: tuple[RedactionChunk, ...]


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """The statement of an erasure certificate; the subject is its keccak256."""

    statement: bytes


@dataclass(frozen=True, slots=True)
class CastVotes:
    """Votes on one proposal, of members that may have voted for other content elsewhere."""

    cast: tuple[CastVote, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why not; `kind` is the error's name, `members` those that it names."""

    kind: str
    reason: str
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers, beside the address that signs.

    Attributes:
        key_ids: of the group keys that it holds a share of.
        encryption_key: what is meant for it alone is wrapped to this key.
    """

    key_ids: tuple[bytes, ...]
    encryption_key: Point


@dataclass(frozen=True, slots=True)
class HeldShare:
    """This member has a share of the key that the subject names; `generation`: digest of its charter."""

    generation: bytes


@dataclass(frozen=True, slots=True)
class Approval:
    """A draft checks out; `downloads` models were fetched to see that."""

    downloads: int


@dataclass(frozen=True, slots=True)
class DeliveredKey:
    """The data key of a sealed file, wrapped to its keeper."""

    version: Uri
    wrapped: bytes


@dataclass(frozen=True, slots=True)
class KeyDelivery:
    """Keys to be kept."""

    keys: tuple[DeliveredKey, ...]


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """The key of a sealed file, please, wrapped to a key made for this question."""

    version: Uri
    reply_to: Point


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The version of a model that a reader would read."""

    position: Position
    version: int


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key, wrapped to who asked."""

    wrapped: bytes


@dataclass(frozen=True, slots=True)
class Versions:
    """Sealed files whose keys are to be destroyed, or of which this member has no key any more."""

    versions: tuple[Uri, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """64 bytes."""

    vote: bytes


@dataclass(frozen=True, slots=True)
class DealerCommitment:
    """Round 1 of a key generation: the commitment, and a key of this generation for sealed shares."""

    commitment: Commitment
    sealing_key: Point


@dataclass(frozen=True, slots=True)
class SealedShare:
    """A share, sealed to its recipient."""

    recipient: int
    sealed: bytes


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
