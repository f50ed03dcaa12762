# SPDX-License-Identifier: Apache-2.0
"""Headers of GGUF files: types of their numbers, and files that are none."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from blockful_py.adopt.gguf import ARRAY, STRING, gguf_type
from blockful_py.errors import FormatError
from tests.adopt.gguf_files import U32, entry, header, text


def words(count: int, *, stated: int | None = None) -> bytes:
    listed = b"".join(text(f"word {number}") for number in range(count))
    return struct.pack("<IQ", STRING, count if stated is None else stated) + listed


NAME = entry("general.architecture", STRING, text("llama"))
TYPE = entry("general.file_type", U32, struct.pack("<I", 15))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (header(NAME, TYPE), "GGUF Q4_K_M"),
        (header(NAME, TYPE, version=2), "GGUF Q4_K_M"),
        (header(entry("tokens", ARRAY, words(500)), TYPE), "GGUF Q4_K_M"),
        (header(entry("scores", ARRAY, struct.pack("<IQ3f", 6, 3, 1, 2, 3)), TYPE), "GGUF Q4_K_M"),
        (header(entry("general.file_type", U32, struct.pack("<I", 99))), "GGUF type 99"),
        (header(entry("general.file_type", STRING, text("15"))), "GGUF"),
        (header(NAME), "GGUF"),
        (header(entry("odd", 77, b""), TYPE), "GGUF"),
        (header(entry("odd", ARRAY, struct.pack("<IQ", ARRAY, 1)), TYPE), "GGUF"),
        (header(version=1), "GGUF"),
    ],
)
def test_the_type_of_a_files_numbers_is_named(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data + bytes(64))
    assert gguf_type(path) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no GGUF file"),
        (b"PK\3\4" + bytes(64), "no GGUF file"),
        (b"GGUF\3", "ends within its header"),
        (header(NAME, count=2**63), "ends within its header"),
        (header(text("x" * 9)[:12]), "ends within its header"),
        (header(struct.pack("<Q", 2**62)), "ends within its header"),
        (header(entry("name", STRING, struct.pack("<Q", 2**63))), "ends within its header"),
        (header(entry("tokens", ARRAY, words(3, stated=2**60))), "ends within its header"),
        (header(entry("scores", ARRAY, struct.pack("<IQ", 6, 2**62))), "ends within its header"),
    ],
)
def test_files_that_are_none_or_lie_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=reason):
        gguf_type(path)
