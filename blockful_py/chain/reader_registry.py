# SPDX-License-Identifier: Apache-2.0
"""Readers of models: their encryption keys and when they joined (IReaderRegistry)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from blockful_py.chain.contract import BarringContract
from blockful_py.types import Address, Point, Receipt


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


class ReaderRegistryContract(BarringContract):
    """Adapter of ReaderRegistry.  Every method raises NodeError if the node fails."""

    NAME: ClassVar[str] = "ReaderRegistry"

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
