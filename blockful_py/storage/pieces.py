# SPDX-License-Identifier: Apache-2.0
"""Pieces that are made one by one, such as a sealed file's segments: ahead of use, as chunks, as a stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from blockful_py.storage.unixfs import CHUNK_SIZE, Parts
from blockful_py.types import Readable

_AHEAD = 2
_LARGE = 2**14
"""Bytes from which on a piece is kept as it is: smaller ones are gathered, so that a chunk has few parts."""


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


def chunks_of_pieces(pieces: Iterable[bytes]) -> Iterator[Parts]:
    """Cuts what `pieces` add up to into chunks of exactly CHUNK_SIZE but the last; of no bytes into one.

    Large pieces are not copied.
    """
    parts: list[bytearray | memoryview] = []
    missing, empty = CHUNK_SIZE, True
    for piece in pieces:
        left = memoryview(piece)
        while left:
            part, left = left[:missing], left[missing:]
            missing -= len(part)
            if len(part) >= _LARGE:
                parts.append(part)
            elif parts and isinstance(parts[-1], bytearray):
                parts[-1] += part
            else:
                parts.append(bytearray(part))
            if not missing:
                yield tuple(parts)
                parts, missing, empty = [], CHUNK_SIZE, False
    if parts or empty:
        yield tuple(parts)


def stream_of(pieces: Iterable[bytes]) -> Readable:
    """Reads what `pieces` add up to; in memory are one piece and what a reader asks for."""
    return _PieceReader(pieces)


class _PieceReader:
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def read(self, count: int, /) -> bytes:
        """Copies each byte once, however the pieces are cut."""
        parts = []
        while count:
            if not self._left:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._left = memoryview(piece)
            part, self._left = self._left[:count], self._left[count:]
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
