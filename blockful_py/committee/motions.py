# SPDX-License-Identifier: Apache-2.0
"""Motions: decisions of a committee about readers and auditors.

No chain tells whether a motion is right, so a member votes only for motions that its operator agreed to.
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
    """The subject of a motion about an account."""

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
    """A motion that the committee of `epoch` may decide once.

    Attributes:
        address: the account that it is about.
        key_x, key_y: encryption key of an auditor to be named; 0, 0 otherwise.
        salt: distinguishes it from equal motions, so that one agreement allows one decision.

    Raises ValueError unless it has a key exactly when it names an auditor.
    """

    epoch: int
    matter: Matter
    address: bytes
    key_x: int
    key_y: int
    salt: bytes

    def __post_init__(self) -> None:
        if bool(self.key_x or self.key_y) != (self.matter is Matter.NAME_AUDITOR):
            raise ValueError("a motion has a key exactly when it names an auditor")

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
        """Hash of the content, so that one proposal cannot have two contents."""
        return keccak(DST_MOTION + codec.encode(self))

    @property
    def about_reader(self) -> bool:
        """Whether the registry of readers carries it out; otherwise the archive does."""
        return self.matter in (Matter.BAR, Matter.READMIT)

    def leaf(self, readers: ReadersLedger, archive: AuditorsLedger) -> bytes:
        """Leaf of the call that it allows, in a certificate's content."""
        if self.about_reader:
            return readers.set_barred_leaf(self.address, self.matter is Matter.BAR)
        return archive.set_auditor_leaf(self.address, self.key_x, self.key_y, 0, 1)
