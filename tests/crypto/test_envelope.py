# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from Crypto.Cipher import AES
from Crypto.Hash import SHA256 as OTHER_SHA256
from Crypto.Protocol.KDF import HKDF
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf import hkdf
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto import curve, envelope
from blockful_py.crypto.envelope import (
    HEADER_BYTES,
    KEY_BYTES,
    SEGMENT,
    seal,
    sealed_size,
    unseal,
    unwrap,
    wrap,
)
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import EnvelopeError, InvalidKeyError
from blockful_py.types import Point

KEY = bytes(range(KEY_BYTES))
SECRET = curve.random_scalar(SeededRng(b"reader"))
READER = curve.multiply_base(SECRET)
CONTEXT = b"chain 1337, contract 0x00, position 1:0, version 0, reader"
WRAPPED = wrap(KEY, READER, CONTEXT, SeededRng(b"ephemeral"))

SMALL = 8
"""Plain bytes of a segment in the tests that change every bit of a sealed file."""
PLAIN = b"segment0segment1segment2end"


GCM_16 = (
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    "cafebabefacedbaddecaf888",
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b",
)
"""Test case 16 of the GCM specification (McGrew and Viega): key, nonce, plain, associated data, sealed."""
HKDF_3 = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
"""Test case 3 of RFC 5869: 42 bytes from 22 bytes 0x0b, no salt, no info."""


@pytest.fixture
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope, "SEGMENT", SMALL)
        yield


def sealed(data: bytes, key: bytes = KEY) -> bytes:
    return b"".join(seal(key, io.BytesIO(data)))


def opened(data: bytes, key: bytes = KEY) -> bytes:
    return b"".join(unseal(key, [data]))


@pytest.mark.parametrize("size", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT])
def test_what_is_sealed_is_opened(size: int) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    file = sealed(data)
    assert len(file) == sealed_size(size)
    assert opened(file) == data
    assert size < SEGMENT or data[:16] not in file


@given(data=st.binary(max_size=5 * SMALL), cuts=st.lists(st.integers(0, 150), max_size=6))
def test_sealed_files_are_opened_in_whatever_pieces_they_come(data: bytes, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope, "SEGMENT", SMALL)
        file = sealed(data)
        borders = [0, *sorted(cuts), len(file)]
        pieces = [file[a:b] for a, b in pairwise(borders)]
        assert b"".join(unseal(KEY, pieces)) == data
        assert len(file) == sealed_size(len(data))


def test_a_stream_that_gives_little_at_a_time_is_sealed_alike() -> None:
    class OneByOne(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            return super().read(1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope, "SEGMENT", SMALL)
        assert b"".join(seal(KEY, OneByOne(PLAIN))) == sealed(PLAIN)


def test_a_key_and_a_content_have_one_sealed_file() -> None:
    assert sealed(PLAIN) == sealed(PLAIN)
    assert sealed(PLAIN) != sealed(PLAIN, bytes(KEY_BYTES))


def test_the_library_gives_the_published_vectors() -> None:
    key, nonce, plain, associated, expected = map(bytes.fromhex, GCM_16)
    assert AESGCM(key).encrypt(nonce, plain, associated) == expected
    assert hkdf.HKDF(SHA256(), 42, None, b"").derive(b"\x0b" * 22) == bytes.fromhex(HKDF_3)


def test_the_format_does_not_change_unnoticed() -> None:
    assert (
        hashlib.sha256(sealed(PLAIN)).hexdigest()
        == "490f4cc36f1bb1d1035aa9b66c9a9967f0de09aa30b5a0caa139b82db10362d6"
    )


@pytest.mark.usefixtures("small_segments")
def test_an_implementation_of_its_own_opens_a_sealed_file() -> None:
    """The format as documented, over another library."""
    file = sealed(PLAIN)
    info = keccak(b"BlockFUL/CH/secp256k1-NR/v1/sealed")
    derived = HKDF(KEY, 71, b"", OTHER_SHA256, context=info)
    assert isinstance(derived, bytes)
    header, body = file[:HEADER_BYTES], file[HEADER_BYTES:]
    assert header == b"BlockFUL sealed1" + derived[39:]
    plain = b""
    for index, at in enumerate(range(0, len(body), SMALL + 16)):
        segment = body[at : at + SMALL + 16]
        last = at + SMALL + 16 >= len(body)
        cipher = AES.new(
            derived[:32], AES.MODE_GCM, nonce=derived[32:39] + index.to_bytes(4, "big") + bytes([last])
        )
        cipher.update(header)
        plain += cipher.decrypt_and_verify(segment[:-16], segment[-16:])
    assert plain == PLAIN


@pytest.mark.usefixtures("small_segments")
def test_every_flipped_bit_of_a_sealed_file_is_refused() -> None:
    file = sealed(PLAIN)
    for bit in range(8 * len(file)):
        damaged = bytearray(file)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(EnvelopeError):
            opened(bytes(damaged))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("size", [0, 1, SMALL, len(PLAIN), 3 * SMALL])
def test_a_sealed_file_that_was_cut_anywhere_is_refused(size: int) -> None:
    file = sealed(PLAIN[:size])
    for length in range(len(file)):
        with pytest.raises(EnvelopeError):
            opened(file[:length])


@pytest.mark.usefixtures("small_segments")
def test_nothing_is_given_out_that_is_not_authentic() -> None:
    file = bytearray(sealed(PLAIN))
    file[HEADER_BYTES + SMALL + 16] ^= 1  # the first byte of segment 1
    pieces = unseal(KEY, [bytes(file)])
    assert next(pieces) == PLAIN[:SMALL]
    with pytest.raises(EnvelopeError, match="segment 1"):
        next(pieces)


@pytest.mark.usefixtures("small_segments")
def test_reordered_repeated_dropped_and_foreign_segments_are_refused() -> None:
    file = sealed(PLAIN)
    header, body = file[:HEADER_BYTES], file[HEADER_BYTES:]
    one, two, three, end = (body[at : at + SMALL + 16] for at in range(0, len(body), SMALL + 16))
    assert opened(header + one + two + three + end) == PLAIN
    foreign = sealed(PLAIN, bytes(KEY_BYTES))[HEADER_BYTES:][: SMALL + 16]
    for order in (
        (two, one, three, end),
        (one, one, three, end),
        (one, three, end),
        (one, two, three, end, end),
        (one, two, end, three),
        (end,),
        (one, two, three),
        (foreign, two, three, end),
    ):
        with pytest.raises(EnvelopeError):
            opened(header + b"".join(order))


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("more", [b"\0", bytes(16), bytes(SMALL + 16), bytes(100)])
def test_an_extended_file_is_refused(more: bytes) -> None:
    for size in (0, SMALL, len(PLAIN)):
        with pytest.raises(EnvelopeError):
            opened(sealed(PLAIN[:size]) + more)


@pytest.mark.usefixtures("small_segments")
def test_a_holder_of_the_key_cannot_spell_one_content_in_two_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [(PLAIN[:SMALL], False), (b"", True)]
    monkeypatch.setattr(envelope, "_segments", lambda _stream: pieces)
    with pytest.raises(EnvelopeError, match="ends inside segment 1"):
        opened(sealed(b""))


def test_another_key_is_told_from_damage() -> None:
    with pytest.raises(EnvelopeError, match="another key"):
        opened(sealed(PLAIN), bytes(KEY_BYTES))
    with pytest.raises(EnvelopeError, match="not sealed"):
        opened(b"weights that nobody sealed, in plain bytes and long enough for a header")


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_size_is_refused(key: bytes) -> None:
    for attempt in (lambda: sealed(b"x", key), lambda: opened(b"x", key), lambda: wrap(key, READER, b"")):
        with pytest.raises(EnvelopeError, match=f"has 32 bytes, this has {len(key)}"):
            attempt()


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(EnvelopeError):
        opened(data)
    with pytest.raises(EnvelopeError):
        opened(sealed(b"")[:HEADER_BYTES] + data)
    with pytest.raises(EnvelopeError):
        unwrap(data, SECRET, CONTEXT)


def test_a_wrapped_key_is_unwrapped_by_its_reader() -> None:
    assert unwrap(WRAPPED, SECRET, CONTEXT) == KEY
    assert len(WRAPPED) == envelope.WRAPPED_BYTES
    assert KEY not in WRAPPED


def test_a_seed_gives_the_same_wrapped_key_and_chance_another() -> None:
    assert wrap(KEY, READER, CONTEXT, SeededRng(b"ephemeral")) == WRAPPED
    assert wrap(KEY, READER, CONTEXT) != WRAPPED


def test_another_reader_or_context_does_not_unwrap() -> None:
    with pytest.raises(EnvelopeError, match="another reader"):
        unwrap(WRAPPED, SECRET + 1, CONTEXT)
    for context in (b"", CONTEXT + b"\0", CONTEXT[:-1], CONTEXT.replace(b"version 0", b"version 1")):
        with pytest.raises(EnvelopeError, match="another reader, model or version"):
            unwrap(WRAPPED, SECRET, context)


def test_every_flipped_bit_of_a_wrapped_key_is_refused() -> None:
    for bit in range(8 * len(WRAPPED)):
        damaged = bytearray(WRAPPED)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(EnvelopeError):
            unwrap(bytes(damaged), SECRET, CONTEXT)


def test_nothing_is_wrapped_for_what_is_no_key() -> None:
    with pytest.raises(InvalidKeyError):
        wrap(KEY, Point(1, 1), CONTEXT)
