# SPDX-License-Identifier: Apache-2.0
"""Motions: decisions of a committee about readers, auditors, participants, requests and the federation file.

A member decides by itself whether to admit a request.  No chain tells whether another motion is right, so a
member votes only for motions that its operator agreed to.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Protocol

from blockful_py.committee import codec
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.types import Address, Bytes32, Length, Point
from blockful_py.whole_file import OWN, write_whole

DST_MOTION = tag("motion")
ACCOUNT_BYTES, DIGEST_BYTES, NUMBER_BYTES, CONTENT_BYTES = 20, 32, 4, 24


class Matter(IntEnum):
    """Kinds of motions."""

    BAR = 1
    READMIT = 2
    NAME_AUDITOR = 3
    REMOVE_AUDITOR = 4
    ADMIT_PARTICIPANT = 5
    BAR_PARTICIPANT = 6
    READMIT_PARTICIPANT = 7
    CHANGE_FILE = 8
    ADMIT_REQUEST = 9
    DISMISS_REQUEST = 10


REQUESTS = frozenset({Matter.ADMIT_REQUEST, Matter.DISMISS_REQUEST})
"""Decisions about requests, which members take without their operators."""

WORDS = {
    Matter.BAR: "bar {} from reading",
    Matter.READMIT: "let {} register as a reader again",
    Matter.NAME_AUDITOR: "register {} as an auditor",
    Matter.REMOVE_AUDITOR: "remove the auditor {}",
    Matter.ADMIT_PARTICIPANT: "admit {} as a participant",
    Matter.BAR_PARTICIPANT: "bar the participant {}",
    Matter.READMIT_PARTICIPANT: "let {} join as a participant again",
    Matter.CHANGE_FILE: "change the federation file to {}",
    Matter.ADMIT_REQUEST: "admit request {}",
    Matter.DISMISS_REQUEST: "dismiss request {}",
}


class ReadersLedger(Protocol):
    """The ReaderRegistry contract."""

    def set_barred_leaf(self, account: Address, barred: bool) -> bytes:
        """Leaf of `setBarred(account, barred)` in a certificate's content."""


class AuditorsLedger(Protocol):
    """The ArchiveRegistry contract."""

    def set_auditor_leaf(self, auditor: Address, key_x: int, key_y: int, chunk: int, chunks: int) -> bytes:
        """Leaf of `setAuditor(auditor, key)` in a certificate's content."""


class ParticipantsLedger(Protocol):
    """The ParticipantRegistry contract."""

    def change_file_leaf(self, digest: Bytes32) -> bytes:
        """Leaf of `changeFile(digest)` in a certificate's content."""

    def decide_leaf(self, request: int, content: bytes, admitted: bool) -> bytes:
        """Leaf of `decide(request, admitted)` in a certificate's content."""

    def admit_leaf(self, account: Address) -> bytes:
        """Leaf of `admit(account)` in a certificate's content."""

    def set_barred_leaf(self, account: Address, barred: bool) -> bytes:
        """Leaf of `setBarred(account, barred)` in a certificate's content."""


class Ledgers(Protocol):
    """The contracts that execute motions."""

    @property
    def readers(self) -> ReadersLedger: ...

    @property
    def archive(self) -> AuditorsLedger: ...

    @property
    def participants(self) -> ParticipantsLedger: ...


@dataclass(frozen=True, slots=True)
class Motion:
    """A motion that the committee of `epoch` may decide once.

    Attributes:
        subject: the account concerned (20 bytes), the digest of the new federation file (32 bytes), or the
            request's number (4 bytes, big-endian) and its content in the contract (24 bytes).
        key_x, key_y: encryption key of a new auditor; 0, 0 otherwise.
        salt: distinguishes equal motions, so that one agreement allows one decision.

    Raises ValueError for a subject of the wrong length, for a key without a new auditor, and for a new
    auditor without a key.
    """

    epoch: int
    matter: Matter
    subject: Annotated[bytes, Length(ACCOUNT_BYTES, DIGEST_BYTES)]
    key_x: int
    key_y: int
    salt: Bytes32

    def __post_init__(self) -> None:
        if bool(self.key_x or self.key_y) != (self.matter is Matter.NAME_AUDITOR):
            raise ValueError("a motion has a key exactly when it names an auditor")
        size = DIGEST_BYTES if self.matter is Matter.CHANGE_FILE else ACCOUNT_BYTES
        if self.matter in REQUESTS:
            size = NUMBER_BYTES + CONTENT_BYTES
        if len(self.subject) != size:
            raise ValueError(f"the subject of this motion has {size} bytes, not {len(self.subject)}")

    def __str__(self) -> str:
        subject = str(self.request) if self.matter in REQUESTS else "0x" + self.subject.hex()
        return f"{WORDS[self.matter].format(subject)} (epoch {self.epoch})"

    @classmethod
    def about(
        cls, epoch: int, matter: Matter, subject: bytes, salt: bytes, key: Point | None = None
    ) -> Motion:
        """A motion with a `salt` of 32 bytes; `key` is the encryption key of a new auditor."""
        x, y = (key.x, key.y) if key is not None else (0, 0)
        return cls(epoch, matter, subject, x, y, salt)

    @classmethod
    def about_request(cls, epoch: int, request: int, content: bytes, admitted: bool) -> Motion:
        """The one motion of an epoch that admits or dismisses a request."""
        matter = Matter.ADMIT_REQUEST if admitted else Matter.DISMISS_REQUEST
        subject = request.to_bytes(NUMBER_BYTES, "big") + content
        return cls.about(epoch, matter, subject, bytes(DIGEST_BYTES))

    @property
    def request(self) -> int:
        """Number of the request concerned."""
        return int.from_bytes(self.subject[:NUMBER_BYTES], "big")

    @property
    def proposal(self) -> Bytes32:
        """Hash of the content, so that one proposal cannot have two contents."""
        return keccak(DST_MOTION + codec.encode(self))

    def leaf(self, ledgers: Ledgers) -> bytes:
        """Leaf of the call that the motion allows, in a certificate's content."""
        match self.matter:
            case Matter.BAR | Matter.READMIT:
                return ledgers.readers.set_barred_leaf(self.subject, self.matter is Matter.BAR)
            case Matter.NAME_AUDITOR | Matter.REMOVE_AUDITOR:
                return ledgers.archive.set_auditor_leaf(self.subject, self.key_x, self.key_y, 0, 1)
            case Matter.ADMIT_PARTICIPANT:
                return ledgers.participants.admit_leaf(self.subject)
            case Matter.BAR_PARTICIPANT | Matter.READMIT_PARTICIPANT:
                barred = self.matter is Matter.BAR_PARTICIPANT
                return ledgers.participants.set_barred_leaf(self.subject, barred)
            case Matter.CHANGE_FILE:
                return ledgers.participants.change_file_leaf(self.subject)
            case Matter.ADMIT_REQUEST | Matter.DISMISS_REQUEST:
                admitted = self.matter is Matter.ADMIT_REQUEST
                content = self.subject[NUMBER_BYTES:]
                return ledgers.participants.decide_leaf(self.request, content, admitted)


AGREED = "agreed"
"""Name of the folder in a member's folder."""


class Agreements:
    """The files in a directory; the member's process reads them for each vote."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def agree(self, motion: Motion) -> None:
        """Stores the operator's agreement to a motion.  Raises KeystoreError when it cannot be written."""
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise KeystoreError(f"{self._directory} cannot be written: {error.strerror}.") from None
        write_whole(self._path(motion), codec.encode(motion), KeystoreError, mode=OWN)

    def withdraw(self, motion: Motion) -> bool:
        """Removes an agreement; returns whether it existed."""
        agreed = self.holds(motion)
        self._path(motion).unlink(missing_ok=True)
        return agreed

    def holds(self, motion: Motion) -> bool:
        """Whether the operator has agreed to a motion."""
        return self._path(motion).exists()

    def motions(self, epoch: int) -> tuple[Motion, ...]:
        """The motions of an epoch that the operator has agreed to; skips unreadable files."""
        agreed = []
        for path in sorted(self._directory.glob("*")):
            with suppress(OSError, MessageError):
                agreed.append(codec.decode(Motion, path.read_bytes()))
        return tuple(motion for motion in agreed if motion.epoch == epoch)

    def _path(self, motion: Motion) -> Path:
        return self._directory / motion.proposal.hex()
