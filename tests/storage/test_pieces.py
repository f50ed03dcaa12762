# SPDX-License-Identifier: Apache-2.0
"""Sealed files on their way into a store and out of it, piece by piece."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto.envelope import seal, sealed_size, unseal
from blockful_py.errors import EnvelopeError
from blockful_py.storage import ContentStore, file_uri
from blockful_py.storage.pieces import ahead, chunks_of_pieces, stream_of
from blockful_py.storage.unixfs import CHUNK_SIZE, chunks_of
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN, Pattern

KEY = bytes(range(32))
MIB = 2**20

STORED_IN_PIECES = """
import resource, sys
from blockful_py.crypto.envelope import unseal, seal
from blockful_py.storage import ContentStore
from blockful_py.storage.pieces import ahead
from tests.storage.conftest import Pattern
key, size = bytes(32), int(sys.argv[2]) * 2**20
store = ContentStore(sys.argv[1])
store.add(bytes(3 * 2**20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
uri = store.add_pieces(ahead(seal(key, Pattern(size))))
assert sum(map(len, unseal(key, store.stream(uri, 2 * size)))) == size
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 20))
def test_a_stream_gives_the_pieces_one_after_the_other(pieces: list[bytes], count: int) -> None:
    stream = stream_of(pieces)
    read = []
    while part := stream.read(count):
        read.append(part)
    assert b"".join(read) == b"".join(pieces)
    assert all(len(part) == count for part in read[:-1])


def test_pieces_are_made_when_they_are_asked_for() -> None:
    made = []

    def pieces() -> object:
        for i in range(10):
            made.append(i)
            yield bytes(2**17)

    stream_of(pieces()).read(2**17)
    assert len(made) < 4


@given(st.lists(st.integers(0, 40_000) | st.sampled_from([MIB - 1, MIB, MIB + 1, 2 * MIB + 5]), max_size=9))
def test_pieces_are_cut_as_a_stream_of_them_is(sizes: list[int]) -> None:
    pieces = [bytes([number]) * size for number, size in enumerate(sizes)]
    chunks = list(chunks_of_pieces(pieces))
    assert [b"".join(chunk) for chunk in chunks] == [chunk for (chunk,) in chunks_of(stream_of(pieces))]


def test_many_small_pieces_make_few_parts_and_a_large_one_is_not_copied() -> None:
    (few,) = chunks_of_pieces(bytes([number % 256]) for number in range(CHUNK_SIZE // 2))
    assert len(few) == 1
    (whole,) = chunks_of_pieces([PATTERN])
    assert [part.obj is PATTERN for part in whole if isinstance(part, memoryview)] == [True]


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 3 * MIB + 7])
def test_a_store_keeps_pieces_as_it_keeps_the_whole(store: ContentStore, size: int) -> None:
    data = (PATTERN * 4)[:size]
    uri = store.add_pieces(data[at : at + 700_001] for at in range(0, size, 700_001))
    assert uri == file_uri(data)
    assert store.read(uri, ANY_SIZE) == data
    assert store.add_pieces([data]) == uri


def test_a_sealed_file_is_stored_and_opened(store: ContentStore) -> None:
    uri = store.add_pieces(seal(KEY, Pattern(3 * MIB + 1)))
    sealed = store.read(uri, ANY_SIZE)
    assert (len(sealed), file_uri(sealed)) == (sealed_size(3 * MIB + 1), uri)
    assert b"".join(unseal(KEY, store.stream(uri, ANY_SIZE))) == PATTERN * 3 + PATTERN[:1]
    with pytest.raises(EnvelopeError, match="another key"):
        next(unseal(bytes(32), store.stream(uri, ANY_SIZE)))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORED_IN_PIECES, str(tmp_path / "store"), "96"],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert int(done.stdout) < 48 * 1024  # KiB, of a file of 96 MiB


@given(st.lists(st.binary(min_size=1, max_size=5), max_size=9))
def test_pieces_made_ahead_are_the_same(pieces: list[bytes]) -> None:
    assert list(ahead(iter(pieces))) == pieces


def test_two_pieces_are_made_ahead_and_no_more() -> None:
    made: list[int] = []

    def making() -> Iterator[bytes]:
        for number in range(100):
            made.append(number)
            yield bytes([number])

    coming = ahead(making())
    for number in range(5):
        assert next(coming) == bytes([number])
        assert len(made) <= number + 3
    coming.close()
    assert len(made) <= 8


def test_what_fails_while_made_ahead_fails_in_its_place() -> None:
    def making() -> Iterator[bytes]:
        yield b"a"
        yield b"b"
        raise EnvelopeError("cut")

    coming = ahead(making())
    assert [next(coming), next(coming)] == [b"a", b"b"]
    with pytest.raises(EnvelopeError, match="cut"):
        next(coming)
    assert list(coming) == []


def test_a_sealed_file_made_ahead_has_the_same_name() -> None:
    content = bytes(3 * MIB + 5)
    one_by_one, made_ahead = (seal(KEY, io.BytesIO(content)) for _ in range(2))
    assert file_uri(stream_of(ahead(made_ahead))) == file_uri(stream_of(one_by_one))
