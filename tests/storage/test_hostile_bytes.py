# SPDX-License-Identifier: Apache-2.0
"""Bytes that somebody else made: one clear error, bounded work and memory, no path outside the store."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blockful_py.crypto import envelope
from blockful_py.crypto.envelope import seal, unseal
from blockful_py.errors import BlockNotFoundError, EnvelopeError, FormatError, StorageError
from blockful_py.storage import ContentStore, cid_string
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import uri_of
from blockful_py.storage.dag_pb import Link, decode, encode
from blockful_py.storage.unixfs import blocks_of, read_whole
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.dags import dags, uris

KEY = bytes(32)
SIZE = 2**15
"""Bytes of a block that is full of one thing."""
LEAF = b"leaf"
NODE = encode((Link(uri_of(LEAF, Codec.RAW), 4, 4), Link(uri_of(LEAF, Codec.RAW), 4, 4)))
SEALED = b"".join(seal(KEY, io.BytesIO(bytes(100))))

Edit = tuple[str, int, bytes]
edits = st.lists(
    st.tuples(st.sampled_from(["replace", "insert", "remove"]), st.integers(0, 200), st.binary(max_size=6)),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, changes: list[Edit]) -> bytes:
    for what, place, piece in changes:
        at = place % (len(data) + 1)
        gone = 0 if what == "insert" else len(piece)
        data = data[:at] + (b"" if what == "remove" else piece) + data[at + gone :]
    return data


@given(edits)
def test_an_edited_node_is_a_node_or_a_format_error(changes: list[Edit]) -> None:
    with suppress(FormatError):
        node = decode(edited(NODE, changes))
        assert decode(encode(node.links)).links == node.links


@given(edits)
def test_an_edited_sealed_file_is_refused_unless_it_is_the_same(changes: list[Edit]) -> None:
    file = edited(SEALED, changes)
    if file == SEALED:
        assert b"".join(unseal(KEY, [file])) == bytes(100)
        return
    with pytest.raises(EnvelopeError):
        b"".join(unseal(KEY, [file]))


@settings(max_examples=50)
@given(dags())
def test_reading_any_dag_ends_within_its_limit(dag: tuple[Uri, dict[Uri, bytes]]) -> None:
    root, blocks = dag
    fetched = []

    def get(uri: Uri) -> bytes:
        fetched.append(uri)
        if uri not in blocks:
            raise BlockNotFoundError(cid_string(uri))
        return blocks[uri]

    with suppress(StorageError):
        assert len(read_whole(root, get, 100)) <= 100
    assert len(fetched) <= 10 * 101
    with suppress(StorageError):
        assert len(list(blocks_of(root, get))) <= 1 + 4 * len(blocks)


def test_of_a_file_that_repeats_itself_without_end_the_root_alone_is_read() -> None:
    """Six nodes of 1,024 links each, over a leaf of one byte: 2^60 bytes from 400 KB."""
    blocks = {uri_of(b"x", Codec.RAW): b"x"}
    uri, size = uri_of(b"x", Codec.RAW), 1
    for _ in range(6):
        block = encode((Link(uri, size, size),) * 1024)
        uri, size = uri_of(block, Codec.DAG_PB), size * 1024
        blocks[uri] = block
    assert len(list(blocks_of(uri, blocks.__getitem__))) == 7
    read: list[Uri] = []

    def get(block: Uri) -> bytes:
        read.append(block)
        return blocks[block]

    for limit in (5000, ANY_SIZE):
        with pytest.raises(FormatError, match=f"longer than the {limit} bytes"):
            read_whole(uri, get, limit)
    assert read == [uri, uri]


@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(lambda n: _field(1, b"\x08\x02" + b"\x20\xff\x7f" * (n // 3 - 4)), id="sizes"),
        pytest.param(lambda n: (b"\x12\x02\x12\x00") * (n // 4), id="links"),
        pytest.param(lambda n: _field(2, _field(1, NODE)) * (n // (len(NODE) + 10)), id="nested"),
        pytest.param(lambda n: b"\x0a\xff\xff\xff\xff\x0f" + bytes(n - 10), id="length"),
        pytest.param(lambda n: encode((Link(uri_of(LEAF, Codec.RAW), 4, 4),) * (n // 55)), id="valid"),
    ],
)
def test_a_block_takes_memory_in_proportion_to_its_size(fill: Callable[[int], bytes]) -> None:
    block = fill(SIZE)
    assert SIZE // 2 < len(block) <= SIZE < MAX_BLOCK_SIZE
    tracemalloc.start()
    try:
        with suppress(FormatError):
            decode(block)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * SIZE


def test_opening_holds_two_segments_and_one_piece() -> None:
    size = 16 * envelope.SEGMENT
    file = b"".join(seal(KEY, io.BytesIO(bytes(size))))
    pieces = (file[at : at + 2**21] for at in range(0, len(file), 2**21))
    tracemalloc.start()
    try:
        assert sum(map(len, unseal(KEY, pieces))) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 9 * envelope.SEGMENT


@given(uris)
@example(Uri(b"../" * 10 + b"..", Codec.RAW))
@example(Uri(b"/" * 32, Codec.DAG_PB))
def test_no_uri_names_a_path_outside_the_store(uri: Uri) -> None:
    name = cid_string(uri)
    assert name.isalnum() and name.isascii() and len(name) == 59


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33), b"../../secret"])
def test_a_digest_of_another_length_touches_no_file(store: ContentStore, digest: bytes) -> None:
    uri = Uri(digest, Codec.RAW)
    for attempt in (store.has, partial(store.read, limit=ANY_SIZE), store.delete):
        with pytest.raises(FormatError, match=f"this one has {len(digest)}"):
            attempt(uri)


def test_foreign_files_in_the_folder_are_left_alone(store: ContentStore) -> None:
    kept = store.add(b"kept")
    strange = [store.directory / "pins" / name for name in ("..x", "notes.txt", "b" * 59, "bafkrei")]
    for path in strange:
        path.write_bytes(b"")
    (store.directory / "blocks" / "zz").mkdir(exist_ok=True)
    (store.directory / "blocks" / "zz" / "README").write_bytes(b"theirs")
    assert list(store) == [kept]
    assert store.collect_garbage() == 0
    assert all(path.exists() for path in strange)


def test_a_link_in_place_of_a_block_gives_nothing_away(store: ContentStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(os.urandom(40))
    uri = store.add(b"model")
    (path,) = (store.directory / "blocks").rglob(cid_string(uri))
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(StorageError, match="do not hash"):
        store.read(uri, ANY_SIZE)
    store.delete(uri)
    assert secret.exists() and not path.is_symlink()


def _field(number: int, body: bytes) -> bytes:
    size, out = len(body), bytearray([number << 3 | 2])
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(out) + bytes([size]) + body
