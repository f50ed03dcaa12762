# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.errors import BlockNotFoundError, FormatError, IntegrityError
from blockful_py.storage import ContentStore, cid_string, file_uri, uri_of
from blockful_py.storage.segments import SEGMENT, stored
from blockful_py.types import Codec
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN, Pattern

MIB = 2**20


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 3 * MIB + 7])
def test_what_was_added_is_read(store: ContentStore, size: int) -> None:
    data = (PATTERN * 4)[:size]
    uri = store.add(data)
    assert uri == file_uri(data)
    assert store.read(uri, ANY_SIZE) == data
    assert store.has(uri)


def test_adding_twice_is_adding_once(store: ContentStore) -> None:
    assert store.add(b"model") == store.add(b"model")
    assert list(store) == [file_uri(b"model")]


def test_several_files_are_kept_as_each_is(store: ContentStore, tmp_path: Path) -> None:
    files = [*(bytes([number]) * 1000 for number in range(40)), b"", PATTERN * 3, b"same", b"same"]
    uris = store.add_each([data] for data in files)
    assert uris == tuple(map(file_uri, files))
    assert [store.read(uri, ANY_SIZE) for uri in uris] == files
    one_by_one = ContentStore(tmp_path / "other")
    assert [one_by_one.add(data) for data in files] == [*uris]
    assert [*one_by_one] == [*store]
    assert [path.name for path in _stored(one_by_one)] == [path.name for path in _stored(store)]


def test_of_several_files_none_is_kept_where_one_fails(store: ContentStore) -> None:
    kept = store.add(b"shared")

    def files() -> Iterator[list[bytes]]:
        yield from ([b"shared"], [b"first"], [b"second"])
        raise RuntimeError("the third cannot be made")

    with pytest.raises(RuntimeError, match="third"):
        store.add_each(files())
    assert list(store) == [kept]
    assert store.read(kept, ANY_SIZE) == b"shared"
    assert len(_stored(store)) == 1


def test_a_file_is_kept_by_another_store_object_on_the_same_directory(store: ContentStore) -> None:
    uri = store.add(b"model")
    assert ContentStore(store.directory).read(uri, ANY_SIZE) == b"model"


def test_streams_are_stored_and_read_in_pieces(store: ContentStore) -> None:
    uri = store.add_stream(Pattern(5 * MIB))
    pieces = list(store.stream(uri, ANY_SIZE))
    assert [len(piece) for piece in pieces] == [MIB] * 5
    assert store.read(uri, ANY_SIZE) == PATTERN * 5


def test_a_file_longer_than_the_limit_is_refused(store: ContentStore) -> None:
    uri = store.add(PATTERN * 3)
    with pytest.raises(FormatError, match="longer than the 2097152 bytes"):
        store.read(uri, limit=2 * MIB)


def test_an_unknown_file_is_named(store: ContentStore) -> None:
    uri = file_uri(b"elsewhere")
    assert not store.has(uri)
    with pytest.raises(BlockNotFoundError, match=cid_string(uri)):
        store.read(uri, ANY_SIZE)


def test_deleting_removes_every_block(store: ContentStore) -> None:
    uri = store.add_stream(Pattern(3 * MIB + 1))
    store.delete(uri)
    assert not store.has(uri)
    assert _stored(store) == []
    with pytest.raises(BlockNotFoundError):
        store.read(uri, ANY_SIZE)


def test_deleting_what_is_not_here_changes_nothing(store: ContentStore) -> None:
    kept = store.add(b"kept")
    store.delete(file_uri(b"never added"))
    assert store.read(kept, ANY_SIZE) == b"kept"


def test_deleting_several_removes_what_only_they_have(store: ContentStore) -> None:
    kept, first, second = (store.add(PATTERN + tail) for tail in (b"kept", b"first", b"second"))
    store.delete(first, file_uri(b"never added"), second)
    assert list(store) == [kept] and store.read(kept, ANY_SIZE) == PATTERN + b"kept"
    store.delete()
    store.delete(kept)
    assert _stored(store) == []


def test_deleting_spares_blocks_of_other_files(store: ContentStore) -> None:
    long = store.add(PATTERN + b"tail")
    short = store.add(PATTERN)
    store.delete(short)
    assert store.read(long, ANY_SIZE) == PATTERN + b"tail"
    other = store.add(PATTERN + b"other")
    store.delete(long)
    assert store.read(other, ANY_SIZE) == PATTERN + b"other"
    store.delete(other)
    assert _stored(store) == []


def test_every_flipped_bit_of_a_small_file_is_detected(store: ContentStore) -> None:
    uri = store.add(b"model")
    (path,) = _stored(store)
    for bit in range(8 * len(b"model")):
        damaged = bytearray(b"model")
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(IntegrityError, match=cid_string(uri)):
            store.read(uri, ANY_SIZE)


@pytest.mark.parametrize("damage", [b"", b"mode", b"models", bytes(3 * MIB)])
def test_a_truncated_or_longer_block_is_detected(store: ContentStore, damage: bytes) -> None:
    uri = store.add(b"model")
    (path,) = _stored(store)
    path.write_bytes(damage)
    with pytest.raises(IntegrityError, match=cid_string(uri)):
        store.read(uri, ANY_SIZE)


def test_a_damaged_leaf_of_a_long_file_is_named(store: ContentStore) -> None:
    uri = store.add(PATTERN + b"tail")
    leaf = uri_of(b"tail", Codec.RAW)
    (path,) = (path for path in _stored(store) if path.name == cid_string(leaf))
    path.write_bytes(b"tall")
    with pytest.raises(IntegrityError, match=cid_string(leaf)):
        store.read(uri, ANY_SIZE)


def test_adding_again_repairs_a_damaged_block(store: ContentStore) -> None:
    uri = store.add(b"model")
    (path,) = _stored(store)
    path.write_bytes(b"wrong")
    assert store.add(b"model") == uri
    assert store.read(uri, ANY_SIZE) == b"model"


def test_deleting_a_file_with_a_damaged_root_leaves_nothing_of_it(store: ContentStore) -> None:
    kept = store.add(b"kept")
    uri = store.add(PATTERN + b"tail")
    (root,) = (path for path in _stored(store) if path.name == cid_string(uri))
    root.write_bytes(b"damaged")
    store.delete(uri)
    assert [path.name for path in _stored(store)] == [cid_string(kept)]


def test_garbage_is_what_no_kept_file_has(store: ContentStore) -> None:
    kept = store.add(PATTERN + b"tail")
    lost = store.add(b"lost")
    (store.directory / "pins" / cid_string(lost)).unlink()
    (store.directory / "tmp" / "interrupted").write_bytes(b"half")
    assert store.collect_garbage() == 1
    assert store.read(kept, ANY_SIZE) == PATTERN + b"tail"
    assert list((store.directory / "tmp").iterdir()) == []


def _stored(store: ContentStore) -> list[Path]:
    return sorted(path for path in (store.directory / "blocks").rglob("*") if path.is_file())


def test_a_stored_file_is_read_by_ranges_until_a_block_of_it_changes(store: ContentStore) -> None:
    data = bytes(range(251)) * 40_000
    uri = store.add(data)
    file = stored(store, uri, len(data))
    for begin, end in (
        (9_000_000, 9_000_010),
        (0, 20),
        (SEGMENT - 1, 3 * SEGMENT + 1),
        (len(data) - 1, 2**60),
    ):
        assert file.read(begin, end) == data[begin:end]
    assert file.read(len(data), len(data) + 1) == b""
    third = file_uri(data[2 * SEGMENT : 3 * SEGMENT])
    path = next(path for path in store.directory.rglob("*") if path.name == cid_string(third))
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with pytest.raises(IntegrityError, match="damaged"):
        stored(store, uri, len(data)).read(2 * SEGMENT, 2 * SEGMENT + 1)
    assert stored(store, uri, len(data)).read(3 * SEGMENT, 3 * SEGMENT + 9) == data[3 * SEGMENT :][:9]
    with pytest.raises(FormatError):
        stored(store, uri, len(data) - 1).read(0, 1)
