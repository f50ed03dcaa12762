# SPDX-License-Identifier: Apache-2.0
"""Mappings that compute values on demand and keep only a few in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeVar

KEPT = 32
"""Number of values kept in memory, the most recently used."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def batches(keys: Iterable[Key]) -> Iterator[list[Key]]:
    """Splits the keys, in order, into lists of at most KEPT."""
    left = iter(keys)
    while some := list(islice(left, KEPT)):
        yield some


class OnDemand(Mapping[Key, Value]):
    """A mapping that computes the values of `keys` on demand; evicted values are computed again."""

    def __init__(self, keys: Iterable[Key], make: Callable[[Key], Value]) -> None:
        """Takes the keys and the function that computes a key's value; its exceptions reach the caller."""
        self._keys = dict.fromkeys(keys)
        self._make = lru_cache(KEPT)(make)

    def __getitem__(self, key: Key) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
