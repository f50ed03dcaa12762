# SPDX-License-Identifier: Apache-2.0
"""Mappings that compute values on demand and keep only a few in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import count, islice
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

KEPT = 32
"""Maximum number of values that a cache keeps in memory, the most recently used."""
KEPT_BYTES = 2**28
"""Maximum bytes of arrays and tensors that all caches of a process keep; a larger value is not kept."""

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
        self._number = next(_numbers)
        self._values: OrderedDict[Key, Value] = OrderedDict()
        _caches[self._number] = self

    def __call__(self, key: Key) -> Value:
        """The value of a key; exceptions of the function reach the caller."""
        with _turn:
            if key in self._values:
                self._used(key)
                return self._values[key]
        value = self._make(key)
        with _turn:
            if key not in self._values and (size := _bytes_of(value)) <= KEPT_BYTES:
                self._values[key] = value
                if size:
                    _sizes[self._number, key] = size
            self._used(key)
            if len(self._values) > KEPT:
                self._forget(next(iter(self._values)))
            _forget_most()
        return value

    def _used(self, key: Key) -> None:
        if key in self._values:
            self._values.move_to_end(key)
        if (self._number, key) in _sizes:
            _sizes.move_to_end((self._number, key))

    def _forget(self, key: Key) -> None:
        del self._values[key]
        _sizes.pop((self._number, key), None)


_turn = RLock()
_numbers = count()
_caches: WeakValueDictionary[int, Recent[Any, Any]] = WeakValueDictionary()
_sizes: OrderedDict[tuple[int, Hashable], int] = OrderedDict()
"""Bytes of all values that have some, by their cache and key, the least recently used first."""


def _forget_most() -> None:
    """Keeps KEPT_BYTES in all caches together; a cache that is gone holds nothing."""
    living = dict(_caches)
    for number, key in [each for each in _sizes if each[0] not in living]:
        del _sizes[number, key]
    left = sum(_sizes.values())
    while left > KEPT_BYTES:
        (number, key), size = next(iter(_sizes.items()))
        living[number]._forget(key)
        left -= size


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
    """Bytes that a state dict, or a model's, keeps in memory; 0 for other values, which are small."""
    value = getattr(value, "weights", value)
    if (kept := getattr(value, "nbytes", None)) is not None:
        return int(kept)
    if isinstance(value, Mapping):
        return sum(getattr(each, "nbytes", 0) for each in value.values())
    return 0
