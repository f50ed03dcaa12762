# SPDX-License-Identifier: Apache-2.0
"""Mappings that compute values on demand and keep only a few in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from threading import RLock
from typing import Generic, TypeVar

KEPT = 32
"""Maximum number of values kept in memory, the most recently used."""
KEPT_BYTES = 2**28
"""Maximum bytes of the kept values' arrays and tensors; a larger value is not kept."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def batches(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    """Splits the keys, in order, into lists whose values fit in memory: at most KEPT of `size` bytes each."""
    left, most = iter(keys), max(1, min(KEPT, KEPT_BYTES // max(1, size)))
    while some := list(islice(left, most)):
        yield some


class Recent(Generic[Key, Value]):
    """Calls a function, and remembers its most recently used values; safe for several threads."""

    def __init__(self, make: Callable[[Key], Value]) -> None:
        self._make = make
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._bytes = 0
        self._turn = RLock()

    def __call__(self, key: Key) -> Value:
        """The value of a key; exceptions of the function reach the caller."""
        with self._turn:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = self._make(key)
        with self._turn:
            if key not in self._values and (size := _bytes_of(value)) <= KEPT_BYTES:
                self._values[key] = value
                self._bytes += size
            while len(self._values) > KEPT or self._bytes > KEPT_BYTES:
                self._bytes -= _bytes_of(self._values.popitem(last=False)[1])
        return value


class OnDemand(Mapping[Key, Value]):
    """A mapping that computes the values of `keys` on demand; evicted values are computed again."""

    def __init__(self, keys: Iterable[Key], make: Callable[[Key], Value]) -> None:
        """Takes the keys and the function that computes a key's value; its exceptions reach the caller."""
        self._keys = dict.fromkeys(keys)
        self._make = Recent(make)

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


def _bytes_of(value: object) -> int:
    """Bytes of the tensors of a state dict, or of a model's; 0 for other values, which are small."""
    value = getattr(value, "weights", value)
    if isinstance(value, Mapping):
        return sum(getattr(each, "nbytes", 0) for each in value.values())
    return 0
