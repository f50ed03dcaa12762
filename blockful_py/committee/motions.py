# SPDX-License-Identifier: Apache-2.0
"""What a committee decides beside models: who is barred from reading, who audits.

No chain says whether that is right: a member votes for what its operator has agreed to, and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from blockful_py.committee import codec
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak
from blockful_py.types import Point

DST_MOTION = tag("motion")


class Matter(IntEnum):
    """What is moved about an account."""

    BAR = 1
    READMIT = 2
    NAME_AUDITOR = 3
    REMOVE_AUDITOR = 4


class ReadersLedger(Protocol):
    """The ReaderRegistry contract."""

    def set_barred_leaf(self, account: bytes, barred: bool, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `setBarred(account, barred)` in a certificate's content."""


class AuditorsLedger(Protocol):
    """The ArchiveRegistry contract."""

    def set_auditor_leaf(self, auditor: bytes, key_x: int, key_y: int, chunk: int, chunks: int) -> bytes:
        """Leaf of `setAuditor(auditor, key)` in a certificate's content."""


@dataclass(frozen=True, slots=True)
class Motion:
    """Something that the committee of `epoch` may decide once.

    Attributes:
        address: the account that it is about.
        key_x, key_y: encryption key of an auditor to be named; 0, 0 otherwise.
        salt: tells it from others of the same words, so that one agreement is one decision.

    Raises ValueError for a key where none belongs, or none where one does.
    """

    epoch: int
    matter: Matter
    address: bytes
    key_x: int
    key_y: int
    salt: bytes

    def __post_init__(self) -> None:
        if bool(self.key_x or self.key_y) != (self.matter is Matter.NAME_AUDITOR):
            raise ValueError("a motion has a key when it names an auditor, and no other has")

    def __str__(self) -> str:
        account = "0x" + self.address.hex()
        words = {
            Matter.BAR: f"bar {account} from reading",
            Matter.READMIT: f"let {account} register as a reader again",
            Matter.NAME_AUDITOR: f"register {account} as an auditor",
            Matter.REMOVE_AUDITOR: f"remove the auditor {account}",
        }
        return f"{words[self.matter]} (epoch {self.epoch})"

    @classmethod
    def about(
        cls, epoch: int, matter: Matter, account: bytes, salt: bytes, key: Point | None = None
    ) -> Motion:
        """`salt`: 32 bytes."""
        x, y = (key.x, key.y) if key is not None else (0, 0)
        return cls(epoch, matter, account, x, y, salt)

    @property
    def proposal(self) -> bytes:
        """Follows from the content, so that nobody can vote for two contents of one proposal."""
        return keccak(DST_MOTION + codec.encode(self))

    def leaf(self, readers: ReadersLedger, archive: AuditorsLedger) -> bytes:
        """Of the one call that it allows, in a certificate's content."""
        if self.matter in (Matter.BAR, Matter.READMIT):
            return readers.set_barred_leaf(self.address, self.matter is Matter.BAR)
        return archive.set_auditor_leaf(self.address, self.key_x, self.key_y, 0, 1)
