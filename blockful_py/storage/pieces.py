# SPDX-License-Identifier: Apache-2.0
"""Adapters for an iterator of pieces, such as a sealed file's segments: prefetching, chunks, a stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from blockful_py.storage.unixfs import CHUNK_SIZE, Parts
from blockful_py.types import Readable

_AHEAD = 2
_LARGE = 2**14
"""Minimum bytes of a piece that is not copied; smaller ones are joined, so a chunk has few parts."""


def ahead(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the same pieces, with the next two prefetched in another thread.

    Sealing in that thread while hashing in this one uses two cores.  An error is raised in place of its
    piece.
    """
    source = iter(pieces)
    with ThreadPoolExecutor(1) as pool:
        coming = deque(pool.submit(next, source, None) for _ in range(_AHEAD))
        while (piece := coming.popleft().result()) is not None:
            coming.append(pool.submit(next, source, None))
            yield piece


def chunks_of_pieces(pieces: Iterable[bytes]) -> Iterator[Parts]:
    """Cuts the concatenation of `pieces` into chunks of CHUNK_SIZE; the last one may be shorter.

    Empty input yields one empty chunk.  Large pieces are not copied.
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
    """A stream of the concatenation of `pieces`; holds one piece and the requested bytes in memory."""
    return _PieceReader(pieces)


class _PieceReader:
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def read(self, count: int, /) -> bytes:
        """Reads at most `count` bytes, copying each byte once."""
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
