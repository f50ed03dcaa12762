# SPDX-License-Identifier: Apache-2.0
"""CIDv1 with sha2-256, of codec raw or dag-pb, in base32.

    bytes   0x01 || codec || 0x12 || 0x20 || digest        (version, codec, sha2-256, 32 bytes)
    text    "b" || base32 of the bytes, lower case, without padding

Source: https://github.com/multiformats/cid.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from blockful_py.errors import FormatError
from blockful_py.types import Codec, Uri

DIGEST_SIZE = 32
_VERSION = 0x01
_SHA2_256 = bytes([0x12, DIGEST_SIZE])
CID_SIZE = 2 + len(_SHA2_256) + DIGEST_SIZE
"""Bytes of a binary CID."""
_TEXT_SIZE = 1 + -(-CID_SIZE * 8 // 5)
_ALPHABET = b"abcdefghijklmnopqrstuvwxyz234567"
_DIGITS = bytes(
    b"0123456789abcdefghijklmnopqrstuv"[_ALPHABET.index(byte)] if byte in _ALPHABET else ord("!")
    for byte in range(256)
)
"""Translates base32 to the digits that `int` reads, and other bytes to one that `int` rejects."""


def uri_of(block: bytes, codec: Codec) -> Uri:
    """The Uri of one block: its sha2-256 digest and its codec."""
    return uri_of_parts((block,), codec)


def uri_of_parts(parts: Iterable[bytes | bytearray | memoryview], codec: Codec) -> Uri:
    """The Uri of the block that `parts` concatenate to."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return Uri(digest.digest(), codec)


def cid_bytes(uri: Uri) -> bytes:
    """The 36 bytes of the CID of `uri`.  Raises FormatError if the digest is not 32 bytes long."""
    if len(uri.digest) != DIGEST_SIZE:
        raise FormatError(f"a sha2-256 digest has {DIGEST_SIZE} bytes, but this one has {len(uri.digest)}.")
    return bytes([_VERSION, uri.codec]) + _SHA2_256 + uri.digest


def uri_from_bytes(cid: bytes) -> Uri:
    """The Uri of a binary CID; also accepts a CIDv0 (34 bytes), which always means dag-pb.

    Raises FormatError for any other version, codec, hash or length.
    """
    if len(cid) == len(_SHA2_256) + DIGEST_SIZE and cid.startswith(_SHA2_256):
        return Uri(cid[len(_SHA2_256) :], Codec.DAG_PB)
    if len(cid) != CID_SIZE or cid[0] != _VERSION or cid[2:4] != _SHA2_256:
        raise FormatError(
            f"{cid[:40].hex() or 'an empty string'} is not a CIDv1 with a sha2-256 digest of 32 bytes."
        )
    try:
        codec = Codec(cid[1])
    except ValueError:
        raise FormatError(
            f"a CID of codec 0x{cid[1]:02x}: only raw (0x55) and dag-pb (0x70) are supported."
        ) from None
    return Uri(cid[4:], codec)


def cid_string(uri: Uri) -> str:
    """The CID as IPFS tools print it: `bafkrei...`  (raw) or `bafybei...`  (dag-pb)."""
    return "b" + base64.b32encode(cid_bytes(uri)).decode().rstrip("=").lower()


def parse_cid(text: str) -> Uri:
    """The Uri of a CID string; accepts only the canonical spelling.

    Raises FormatError if it is not a base32 CIDv1 of codec raw or dag-pb with sha2-256.
    """
    advice = "expected a CIDv1 in base32 such as bafkrei... (`ipfs cid base32` converts others)"
    digits = text[1:129].encode("ascii", "replace").translate(_DIGITS)
    try:
        number = int(digits, 32)
    except ValueError:
        number = -1
    if number < 0 or not text.startswith("b") or len(text) > 128:
        raise FormatError(f"{text[:80]!r} is not a CID: {advice}.")
    size, spare = divmod(5 * len(digits), 8)
    uri = uri_from_bytes((number >> spare).to_bytes(size, "big"))
    if len(text) != _TEXT_SIZE or number % (1 << spare):
        raise FormatError(f"{text!r} is not the canonical spelling of its CID: {advice}.")
    return uri
