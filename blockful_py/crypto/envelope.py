# SPDX-License-Identifier: Apache-2.0
"""Sealed files, each encrypted under its own data key, and data keys wrapped for readers.

    K || P || C = HKDF-SHA256(key, no salt, info = DST_sealed): 32, 7 and 32 bytes
    header      = MAGIC || C
    segment i   = AES-256-GCM(K, nonce = P || i (4 bytes) || last (1 byte), plain, associated data = header)
    sealed file = header || segment 0 || segment 1 || ...     (1 MiB of plain bytes each, the last 0 to 1 MiB)

The nonces follow STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015): a segment decrypts only in its place, and
the last one only as the last.  C commits to the key, which GCM does not: no file decrypts to two contents
under two keys, so every reader reads the same content as the committee.

Sealing is deterministic: a key and a content have one sealed file, so sealing again after a crash gives the
same CID.  **A key must only ever seal one content**: two contents under one key share their nonces, which
reveals both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hmac import compare_digest
from itertools import chain

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from blockful_py.crypto import ecies
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, EnvelopeError
from blockful_py.types import Point, Readable, Rng

KEY_BYTES = 32
SEGMENT = 1 << 20
"""Plaintext bytes of a segment."""
MAGIC = b"BlockFUL sealed1"
HEADER_BYTES = len(MAGIC) + 32
WRAPPED_BYTES = KEY_BYTES + ecies.OVERHEAD
DST_SEALED = tag("sealed")
MAX_SEALED_BYTES = 1 << 30
"""Maximum bytes of a sealed file whose content is unknown."""
_TAG = 16
_PREFIX = 7
_MOST_SEGMENTS = 2**32


def seal(key: bytes, stream: Readable) -> Iterator[bytes]:
    """Yields the sealed file of the bytes of `stream`: its header, then its segments.

    Memory is bounded by a few segments.  `key` must never have sealed another content. Raises EnvelopeError
    unless the key has KEY_BYTES bytes, or beyond 2^32 segments.
    """
    cipher, prefix, header = _schedule(key)
    yield header
    for index, (plain, last) in enumerate(_segments(stream)):
        yield cipher.encrypt(_nonce(prefix, index, last), plain, header)


def unseal(key: bytes, pieces: Iterable[bytes], first: int = 0) -> Iterator[bytes]:
    """Yields the plaintext of the sealed file in `pieces`, each segment after its authentication.

    `first`: the segment with which the pieces begin, without the file's header if it is above 0.  No pieces
    are then nothing, since the file ends before.
    Truncation is detected only at the end of the iteration.  Memory is bounded by two segments and one piece.
    Raises EnvelopeError for another key, and for a changed, truncated, reordered or extended file.
    """
    cipher, prefix, header = _schedule(key)
    source = iter(pieces)
    pending = bytearray() if first else _take_header(source, header)
    for index, (sealed, last) in enumerate(_sealed_segments(pending, source), first):
        if index == first > 0 and not sealed:
            return
        if len(sealed) < _TAG + (index > 0):
            raise EnvelopeError(
                f"a sealed file ends inside segment {index}: it was cut short; fetch it again."
            )
        try:
            yield cipher.decrypt(_nonce(prefix, index, last), sealed, header)
        except InvalidTag:
            raise EnvelopeError(
                f"segment {index} of a sealed file is not authentic: the file was changed, reordered, "
                "cut or extended; fetch it again from another place."
            ) from None


def segment_begin(index: int) -> int:
    """First byte in a sealed file of a segment above 0, for `unseal`."""
    return HEADER_BYTES + index * (SEGMENT + _TAG)


def sealed_size(size: int) -> int:
    """Size in bytes of the sealed file of `size` plain bytes (0 or more)."""
    segments = max(1, -(-size // SEGMENT))
    return HEADER_BYTES + size + segments * _TAG


def wrap(key: bytes, reader: Point, context: bytes, rng: Rng = system_rng) -> bytes:
    """Wraps a data key for the holder of the secret of `reader`, in WRAPPED_BYTES bytes.

    `context` identifies the key's use (chain, contract, position, version, reader); `unwrap` needs the same
    context. Raises InvalidKeyError if `reader` is not on the curve, EnvelopeError for a key of another size.
    """
    return ecies.seal(reader, context, _checked(key), rng)


def unwrap(wrapped: bytes, secret: int, context: bytes) -> bytes:
    """Unwraps a data key.

    Raises EnvelopeError if it is damaged, or wrapped for another reader or context.
    """
    if len(wrapped) != WRAPPED_BYTES:
        raise EnvelopeError(f"a wrapped key has {WRAPPED_BYTES} bytes, this has {len(wrapped)}.")
    try:
        return ecies.unseal(secret, context, wrapped)
    except CryptoError:
        raise EnvelopeError(
            "a wrapped key cannot be unwrapped: it is damaged, or for another reader, model or version."
        ) from None


def _schedule(key: bytes) -> tuple[AESGCM, bytes, bytes]:
    """The cipher, the prefix of its nonces, and the header of the sealed file."""
    derived = HKDF(SHA256(), KEY_BYTES + _PREFIX + 32, None, DST_SEALED).derive(_checked(key))
    commitment = derived[KEY_BYTES + _PREFIX :]
    return AESGCM(derived[:KEY_BYTES]), derived[KEY_BYTES : KEY_BYTES + _PREFIX], MAGIC + commitment


def _checked(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise EnvelopeError(f"a data key has {KEY_BYTES} bytes, this has {len(key)}.")
    return key


def _nonce(prefix: bytes, index: int, last: bool) -> bytes:
    if index >= _MOST_SEGMENTS:
        raise EnvelopeError(f"a sealed file has at most {_MOST_SEGMENTS} segments: split the file.")
    return prefix + index.to_bytes(4, "big") + bytes([last])


def _segments(stream: Readable) -> Iterator[tuple[bytes, bool]]:
    """Yields each segment of `stream` and whether it is the last; an empty stream has one empty segment."""
    segment = _read(stream)
    while following := _read(stream) if len(segment) == SEGMENT else b"":
        yield segment, False
        segment = following
    yield segment, True


def _read(stream: Readable) -> bytes:
    """Reads SEGMENT bytes, fewer only at the end of the stream."""
    parts: list[bytes] = []
    missing = SEGMENT
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _take_header(source: Iterator[bytes], header: bytes) -> bytearray:
    """Reads and checks the header; returns the rest of its last piece."""
    pending = bytearray()
    while len(pending) < HEADER_BYTES and (piece := next(source, None)) is not None:
        pending += piece
    actual = bytes(pending[:HEADER_BYTES])
    if len(actual) < HEADER_BYTES or not actual.startswith(MAGIC):
        raise EnvelopeError("a sealed file begins with another header: it is not sealed, or was cut short.")
    if not compare_digest(actual, header):
        raise EnvelopeError("a sealed file has another key than this one, or its header is damaged.")
    del pending[:HEADER_BYTES]
    return pending


def _sealed_segments(pending: bytearray, source: Iterator[bytes]) -> Iterator[tuple[bytearray, bool]]:
    """Cuts `pending` and the pieces of `source` into sealed segments; the remainder is the last one."""
    whole = SEGMENT + _TAG
    for piece in chain((b"",), source):
        pending += piece
        while len(pending) > whole:
            segment = pending[:whole]
            del pending[:whole]
            yield segment, False
    yield pending, True
