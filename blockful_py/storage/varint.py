# SPDX-License-Identifier: Apache-2.0
"""Unsigned LEB128 numbers of protobuf and CAR."""

from __future__ import annotations

from blockful_py.errors import FormatError


def encode(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(data: bytes | bytearray, at: int) -> tuple[int, int]:
    """Decodes the number at offset `at`; returns it and its end.

    Raises FormatError if it is truncated or exceeds 64 bits.
    """
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise FormatError("the data end inside a number: they are truncated.")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 2**64:
                break
            return value, at
    raise FormatError("a number beyond 64 bits.")
