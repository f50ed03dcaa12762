# SPDX-License-Identifier: Apache-2.0
"""keccak256 and Solidity's encoding of static values.

The hash comes from `safe-pysha3` (1 microsecond per call) if installed, otherwise from `pycryptodome` (6
microseconds); both are C implementations of the same function.
"""

from __future__ import annotations

from collections.abc import Callable

from Crypto.Hash import keccak as _pycryptodome


def _portable(data: bytes) -> bytes:
    return _pycryptodome.new(digest_bits=256, data=data).digest()


def _backend() -> Callable[[bytes], bytes]:
    try:
        from sha3 import keccak_256  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return _portable

    def fast(data: bytes) -> bytes:
        digest: bytes = keccak_256(data).digest()
        return digest

    return fast


keccak: Callable[[bytes], bytes] = _backend()
"""keccak256, as in Solidity: 32 bytes."""


def word(value: int | bytes) -> bytes:
    """Encodes one 32-byte word of `abi.encode`.

    An int is a uint256 (or any smaller unsigned type), 32 bytes are a bytes32 and 20 bytes an address. Raises
    ValueError for anything else, OverflowError for an int out of range.
    """
    if isinstance(value, int):
        return value.to_bytes(32, "big")
    if len(value) == 32:
        return value
    if len(value) == 20:
        return bytes(12) + value
    raise ValueError(f"a word is made of an int, 32 bytes or a 20-byte address, not of {len(value)} bytes")


def words(*values: int | bytes) -> bytes:
    """Encodes static values as `abi.encode` does, one 32-byte word each."""
    return b"".join(map(word, values))


def selector(signature: str) -> bytes:
    """The first 4 bytes of keccak256 of a function's canonical signature."""
    return keccak(signature.encode())[:4]
