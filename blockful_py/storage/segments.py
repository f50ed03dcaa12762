# SPDX-License-Identifier: Apache-2.0
"""Ranges of files that are read in segments of one size, such as sealed ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Protocol

from blockful_py.storage.pieces import stream_of
from blockful_py.storage.unixfs import CHUNK_SIZE, chunks_of
from blockful_py.types import Uri

SEGMENT = CHUNK_SIZE
"""Bytes of a segment, as in a sealed file; the last one of a file may be shorter."""
KEPT = 4
"""Segments of a file that are kept in memory, the last ones read."""


class Streams(Protocol):
    """A store from which files are streamed (see `FileStore`)."""

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]: ...


class Segments:
    """Reads ranges of a file.  A reading in order takes each segment once.  Safe for several threads."""

    def __init__(self, read_from: Callable[[int], Iterator[bytes]], limit: int) -> None:
        """Takes a function that yields the segments from an index on.

        `limit`: maximum bytes of the file.
        """
        self.nbytes = min(limit, KEPT * SEGMENT)
        self._read_from = read_from
        self._turn = Lock()
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._source: Iterator[bytes] = iter(())
        self._next = -1

    def read(self, begin: int, end: int) -> bytearray:
        """The bytes from `begin` to `end`, fewer where the file ends before; errors as the segments'."""
        data = bytearray()
        while begin < end:
            index, at = divmod(begin, SEGMENT)
            with self._turn:
                segment = self._segment(index)
            part = memoryview(segment)[at : at + end - begin]
            data += part
            begin += len(part)
            if len(segment) < SEGMENT:
                break
        return data

    def _segment(self, index: int) -> bytes:
        """A segment; nothing after the last."""
        if index not in self._kept:
            if index != self._next:
                self._source = self._read_from(index)
            self._next = -1  # where the source fails, it is opened again
            self._kept[index] = next(self._source, b"")
            self._next = index + 1
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(index)
        return self._kept[index]


def stored(store: Streams, uri: Uri, limit: int) -> Segments:
    """The file `uri` of at most `limit` bytes; errors as `FileStore.stream`."""

    def read_from(index: int) -> Iterator[bytes]:
        for (chunk,) in chunks_of(stream_of(store.stream(uri, limit, index * SEGMENT))):
            yield bytes(chunk)

    return Segments(read_from, limit)
