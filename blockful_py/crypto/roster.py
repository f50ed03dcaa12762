# SPDX-License-Identifier: Apache-2.0
"""The members that may vote in an epoch, by their keys (IQuorum.Roster)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from blockful_py.crypto import curve
from blockful_py.types import Point

MAX_MEMBERS = 256


@dataclass(frozen=True, slots=True)
class Roster:
    """Members of an epoch, and its group key.

    Attributes:
        keys: voting keys; member index i (0-based) is bit i of a certificate's `voters`.
        threshold: shares needed for a collision.
        unanimous: every member must vote.
        group_key: Y = xG.
    """

    keys: tuple[Point, ...]
    threshold: int
    unanimous: bool
    group_key: Point

    @property
    def members(self) -> tuple[bytes, ...]:
        """Voting addresses, 20 bytes each."""
        return _addresses(self.keys)

    @property
    def quorum(self) -> int:
        """Votes needed: ceil(2n / 3) members, or all if the rule is unanimity (lib/Quorum.sol)."""
        size = len(self.keys)
        return size if self.unanimous else -(-2 * size // 3)

    def chosen(self, voters: int) -> tuple[int, ...]:
        """0-based indices of the members whose bits are set, ascending.

        Raises ValueError for a bit beyond the last member.
        """
        if voters >> len(self.keys):
            raise ValueError(f"a roster of {len(self.keys)} has no member {voters.bit_length()}")
        return tuple(index for index in range(len(self.keys)) if voters >> index & 1)


def bits(indices: Iterable[int]) -> int:
    """The `voters` bits of members with these 1-based indices."""
    return sum(1 << (index - 1) for index in indices)


@lru_cache(maxsize=64)
def _addresses(keys: tuple[Point, ...]) -> tuple[bytes, ...]:
    return tuple(map(curve.address, keys))
