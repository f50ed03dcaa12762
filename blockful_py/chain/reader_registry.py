# SPDX-License-Identifier: Apache-2.0
"""Readers of models: their encryption keys and when they joined (IReaderRegistry)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from blockful_py.chain import abi
from blockful_py.chain.contract import Contract
from blockful_py.types import Action, Address, Point, Receipt


@dataclass(frozen=True, slots=True)
class Reader:
    """An account's entry in the registry.

    Attributes:
        key: encryption key; None if it is not registered.
        joined: height of the first block of models that could follow its registration; 0 if not registered.
        barred: whether the committee barred it.
    """

    key: Point | None
    joined: int
    barred: bool


class ReaderRegistryContract(Contract):
    """Adapter of ReaderRegistry.  Every method raises NodeError if the node fails."""

    NAME: ClassVar[str] = "ReaderRegistry"

    def quorum(self) -> bytes:
        """Address of the contract that checks certificates, 20 bytes."""
        quorum: bytes = self._read("quorum")
        return quorum

    def live(self) -> bytes:
        """Address of the live chain whose heights count, 20 bytes."""
        live: bytes = self._read("live")
        return live

    def reader(self, account: Address) -> Reader:
        """The entry of an account (20 bytes)."""
        key_x, key_y, joined, barred = self._read("reader", account)
        return Reader(Point(key_x, key_y) if joined else None, joined, barred)

    def register(self, key: Point) -> Receipt:
        """Registers the sender's account.  Raises ContractError InvalidReaderKey or ReaderIsBarred."""
        return self._send("register", key.x, key.y)

    def leave(self) -> Receipt:
        """Removes the sender's account.  Raises ContractError NotRegistered."""
        return self._send("leave")

    def set_barred(self, account: Address, barred: bool, action: Action) -> Receipt:
        """Bars or readmits an account.

        Raises ContractError NothingToChange, or an error of IQuorum or ICertified.
        """
        return self._send("setBarred", account, barred, abi.action(action))

    def set_barred_leaf(self, account: Address, barred: bool, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `set_barred(account, barred)` in a certificate's content."""
        return self._leaf("setBarred", chunk, chunks, abi.barred_digest(account, barred))
