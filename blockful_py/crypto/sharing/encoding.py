# SPDX-License-Identifier: Apache-2.0
"""Bytes of members' messages in a round, for a transport of `rounds`.

A message is a byte that tells its kind, and its content.  Residues take four bytes each.  Decoding makes
nothing larger than twice its bytes, so a limit on these is a limit on memory.  Whether numbers are residues
of the right shape is checked by the protocols that use them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from blockful_py.crypto.sharing.dealing import DealingProof, DealtShares
from blockful_py.crypto.sharing.residues import Array
from blockful_py.errors import MessageError

DIMENSIONS = 4
"""Most dimensions of an array."""


def encoded(message: Any) -> bytes:
    """The bytes of None, bytes, residues, a proof, shares, complaints, shares by accuser, or a list of these.

    Raises TypeError for anything else.
    """
    match message:
        case None:
            return b"N"
        case bytes():
            return b"B" + message
        case np.ndarray():
            return b"A" + _array(message)
        case DealingProof():
            return (
                b"P"
                + _count(message.commitments)
                + b"".join((*message.commitments, _array(message.sums), _array(message.identity)))
            )
        case DealtShares():
            return b"S" + _shares(message)
        case tuple():
            return b"C" + _count(message) + struct.pack(f"<{len(message)}H", *message)
        case Mapping():
            shown = [struct.pack("<H", member) + _shares(each) for member, each in sorted(message.items())]
            return b"M" + _count(shown) + b"".join(shown)
        case list():
            parts = [encoded(each) for each in message]
            return b"L" + _count(parts) + b"".join(struct.pack("<I", len(each)) + each for each in parts)
    raise TypeError(f"no message of a round is of type {type(message).__name__}")


def decoded(data: bytes) -> Any:
    """Inverse of `encoded`.  Raises MessageError for bytes that encode no message."""
    found = _decoded(data, may_list=True)
    if encoded(found) != data:
        raise MessageError("a message of a round is not in its canonical encoding.")
    return found


def _decoded(data: bytes, may_list: bool) -> Any:
    reader = _Reader(data)
    kind = reader.take(1)
    found: Any
    if kind == b"N":
        found = None
    elif kind == b"B":
        found = reader.take(len(data) - 1)
    elif kind == b"A":
        found = reader.array()
    elif kind == b"P":
        commitments = tuple(reader.take(32) for _ in range(reader.number()))
        found = DealingProof(commitments, reader.array(), reader.array())
    elif kind == b"S":
        found = reader.shares()
    elif kind == b"C":
        found = tuple(reader.number() for _ in range(reader.number()))
    elif kind == b"M":
        found = {reader.number(): reader.shares() for _ in range(reader.number())}
    elif kind == b"L" and may_list:
        sizes = (reader.long() for _ in range(reader.number()))
        found = [_decoded(reader.take(size), may_list=False) for size in sizes]
    else:
        raise MessageError(f"a message of a round has the unknown kind {kind!r}.")
    return found


def _count(items: Any) -> bytes:
    return struct.pack("<H", len(items))


def _array(numbers: Array) -> bytes:
    shape = struct.pack(f"<B{numbers.ndim}I", numbers.ndim, *numbers.shape)
    return shape + np.ascontiguousarray(numbers, "<u4").tobytes()


def _shares(shares: DealtShares) -> bytes:
    arrays = (*shares.numbers, *shares.masks, shares.zeros)
    return _count(shares.numbers) + shares.salt + b"".join(map(_array, arrays))


class _Reader:
    """Reads a message from its beginning; each method raises MessageError where the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise MessageError("a message of a round ends too early.")
        self._at += size
        return found

    def number(self) -> int:
        return int.from_bytes(self.take(2), "little")

    def long(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def array(self) -> Array:
        dimensions = self.take(1)[0]
        if not 1 <= dimensions <= DIMENSIONS:
            raise MessageError(f"an array has 1 to {DIMENSIONS} dimensions, this has {dimensions}.")
        shape = struct.unpack(f"<{dimensions}I", self.take(4 * dimensions))
        if not all(shape):
            raise MessageError("an array of a message has no numbers.")
        return np.frombuffer(self.take(4 * prod(shape)), "<u4").reshape(shape).astype(np.int64)

    def shares(self) -> DealtShares:
        kinds, salt = self.number(), self.take(32)
        numbers, masks = (tuple(self.array() for _ in range(kinds)) for _ in range(2))
        return DealtShares(numbers, masks, self.array(), salt)
