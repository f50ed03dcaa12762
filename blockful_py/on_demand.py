# SPDX-License-Identifier: Apache-2.0
"""Values that are made when they are asked for, so that memory holds a few of many."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeVar

KEPT = 32
"""Values that stay in memory, the latest asked for."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def batches(keys: Iterable[Key]) -> Iterator[list[Key]]:
    """The keys in their order, as many at a time as stay in memory."""
    left = iter(keys)
    while some := list(islice(left, KEPT)):
        yield some


class OnDemand(Mapping[Key, Value]):
    """A value for each of `keys`, in their order; one that has left memory is made again."""

    def __init__(self, keys: Iterable[Key], make: Callable[[Key], Value]) -> None:
        """`make`: the value of a key; what it raises reaches whoever asks."""
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
