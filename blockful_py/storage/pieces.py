# SPDX-License-Identifier: Apache-2.0
"""A stream over pieces that are made one by one, such as the segments of a sealed file."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 2**16


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
