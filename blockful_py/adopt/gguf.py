# SPDX-License-Identifier: Apache-2.0
"""The type of the numbers in a GGUF file, by its header; tensors are not read.

Source of the format: the GGUF page of https://github.com/ggml-org/ggml (versions 2 and 3: "GGUF", version,
numbers of tensors and of entries; an entry is a key, a type and a value, all little-endian).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from blockful_py.errors import FormatError

MAX_HEADER_BYTES = 32 << 20
"""Maximum size of the entries; a tokenizer of 256,000 words has about 12 MiB."""
VERSIONS = (2, 3)
FILE_TYPE = "general.file_type"
STRING, ARRAY = 8, 9
SIZES: Mapping[int, int] = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by its type."""
NAMES: Mapping[int, str] = {
    **{0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K"},
    **{11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M"},
    **{18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S"},
    **{25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M"},
    **{32: "BF16", 36: "TQ1_0", 37: "TQ2_0"},
}
"""llama.cpp's names of file types."""


def gguf_type(path: Path) -> str:
    """Such as "GGUF Q4_K_M", or "GGUF" if the header does not tell.

    Raises FormatError unless the file begins as a GGUF file, or if it ends within its header.
    """
    try:
        with path.open("rb") as stream:
            return _Header(stream, path).file_type()
    except OSError as error:
        raise FormatError(f"{path.name} cannot be read: {error.strerror}.") from None


class _Header:
    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._name = stream, path.name
        self._end = min(path.stat().st_size, MAX_HEADER_BYTES)

    def file_type(self) -> str:
        if self._stream.read(4) != b"GGUF":
            raise FormatError(f"{self._name} is no GGUF file: it does not begin with GGUF. Fetch it again.")
        version, _ = self._number(4), self._number(8)
        entries = self._number(8) if version in VERSIONS else 0
        for _ in range(entries):
            key, kind = self._taken(self._number(8)), self._number(4)
            if key == FILE_TYPE.encode() and SIZES.get(kind) == 4:
                return f"GGUF {NAMES.get(number := self._number(4), f'type {number}')}"
            if not self._skip(kind):
                break
        return "GGUF"

    def _skip(self, kind: int) -> bool:
        """Passes over a value; False for one of a type that is not known here."""
        if kind in SIZES:
            self._pass(SIZES[kind])
        elif kind == STRING:
            self._pass(self._number(8))
        elif kind == ARRAY:
            inner, count = self._number(4), self._number(8)
            if inner in SIZES:
                self._pass(count * SIZES[inner])
            elif inner == STRING:
                for _ in range(count):
                    self._pass(self._number(8))
            else:
                return False
        else:
            return False
        return True

    def _number(self, size: int) -> int:
        return int.from_bytes(self._taken(size), "little")

    def _taken(self, count: int) -> bytes:
        self._require(count)
        return self._stream.read(count)

    def _pass(self, count: int) -> None:
        self._require(count)
        self._stream.seek(count, 1)

    def _require(self, count: int) -> None:
        if self._stream.tell() + count > self._end:
            raise FormatError(
                f"{self._name} ends within its header, or the header has more than {MAX_HEADER_BYTES} bytes: "
                "fetch it again."
            )
