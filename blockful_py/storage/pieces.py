# SPDX-License-Identifier: Apache-2.0
"""Pieces that are made one by one, such as the segments of a sealed file: ahead of use, and as a stream."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 2**16
_AHEAD = 2


def ahead(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same pieces, the next two of them made in another thread while one is used.

    Who seals there and hashes here keeps two cores busy.  What making a piece raises is raised in its place.
    """
    source = iter(pieces)
    with ThreadPoolExecutor(1) as pool:
        coming = deque(pool.submit(next, source, None) for _ in range(_AHEAD))
        while (piece := coming.popleft().result()) is not None:
            coming.append(pool.submit(next, source, None))
            yield piece


def stream_of(pieces: Iterable[bytes]) -> BinaryIO:
    """Reads what `pieces` add up to; in memory are one piece and what a reader asks for."""
    return io.BufferedReader(_Pieces(pieces), _BUFFER)


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
