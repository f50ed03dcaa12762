# SPDX-License-Identifier: Apache-2.0
"""A file is put together from blocks in any order; one that cannot be read is refused early."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import FormatError, StorageError
from blockful_py.record.model_node import MAX_NODE_BYTES
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.storage import bounds as module
from blockful_py.storage import varint
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import uri_of
from blockful_py.storage.dag_pb import Link, encode
from blockful_py.storage.unixfs import MAX_DEPTH, blocks_of, read_whole
from blockful_py.types import Codec, Uri
from tests.storage.dags import dags, file_of

LIMIT = 1000


def nothing(uri: Uri) -> None:
    return None


def complete(assembly: Assembly, blocks: Mapping[Uri, bytes], order: st.DataObject | None = None) -> int:
    """Gives an assembly all missing blocks that there are; returns how many."""
    given_ = 0
    while there := [uri for uri in assembly.missing if uri in blocks]:
        uri = there[0] if order is None else order.draw(st.sampled_from(there))
        assembly.take(uri, blocks[uri])
        given_ += 1
    return given_


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=30), st.integers(2, 5), st.data())
def test_a_file_is_complete_in_any_order(leaves: list[bytes], width: int, data: st.DataObject) -> None:
    root, blocks = file_of(leaves, width)
    assembly = Assembly(root, LIMIT, nothing)
    assert complete(assembly, blocks, data) == len(blocks)
    assert assembly.missing == ()
    assert set(assembly.blocks) == set(blocks) == set(blocks_of(root, blocks.__getitem__))


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=30), st.integers(2, 5), st.data())
def test_what_is_here_is_not_missing(leaves: list[bytes], width: int, data: st.DataObject) -> None:
    root, blocks = file_of(leaves, width)
    here = {uri: block for uri, block in blocks.items() if data.draw(st.booleans())}
    assembly = Assembly(root, LIMIT, here.get)
    assert complete(assembly, blocks, data) == len(blocks.keys() - here.keys())
    assert assembly.missing == ()


@given(dags(), st.data())
def test_any_dag_ends_and_what_can_be_read_is_complete(
    dag: tuple[Uri, dict[Uri, bytes]], data: st.DataObject
) -> None:
    root, blocks = dag
    try:
        whole: bytes | None = read_whole(root, blocks.__getitem__, LIMIT)
    except (StorageError, KeyError):
        whole = None
    assembly = Assembly(root, LIMIT, nothing)
    try:
        assert complete(assembly, blocks, data) <= len(blocks)
    except FormatError:
        assert whole is None
        return
    assert whole is None or assembly.missing == ()


def test_a_file_over_the_limit_is_refused_by_its_root() -> None:
    root, blocks = file_of([b"a" * 600, b"b" * 600], 2)
    with pytest.raises(FormatError, match="longer than the 1000 bytes allowed here"):
        Assembly(root, LIMIT, blocks.get)
    with pytest.raises(FormatError, match="longer than"):
        Assembly(uri_of(bytes(1001), Codec.RAW), LIMIT, lambda uri: bytes(1001))
    assert Assembly(root, 1200, blocks.get).missing == ()


def test_a_block_over_2_mib_is_refused() -> None:
    block = bytes(MAX_BLOCK_SIZE + 1)
    with pytest.raises(FormatError, match="over 2097152"):
        Assembly(uri_of(block, Codec.RAW), 2**30, lambda uri: block)


def test_a_file_of_dust_is_refused_by_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves of a byte each cost a request each."""
    monkeypatch.setattr(module, "FEW_BLOCKS", 16)
    root, blocks = file_of([bytes([i]) for i in range(64)], 8)
    with pytest.raises(FormatError, match="more than 16 blocks"):
        complete(Assembly(root, LIMIT, nothing), blocks)
    assert Assembly(root, 16 * module.SMALL_BLOCK * 4, blocks.get).missing == ()


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1])
def test_nodes_below_nodes_have_8_levels_at_most(levels: int) -> None:
    uri, blocks = uri_of(b"x", Codec.RAW), {uri_of(b"x", Codec.RAW): b"x"}
    for _ in range(levels):
        block = encode((Link(uri, 1, 1),))
        uri = uri_of(block, Codec.DAG_PB)
        blocks[uri] = block
    if levels == MAX_DEPTH:
        assert Assembly(uri, LIMIT, blocks.get).missing == ()
        assert read_whole(uri, blocks.__getitem__, LIMIT) == b"x"
        return
    for read in (
        lambda: Assembly(uri, LIMIT, blocks.get),
        lambda: read_whole(uri, blocks.__getitem__, LIMIT),
    ):
        with pytest.raises(FormatError, match="more than 8 levels"):
            read()


def test_a_file_that_repeats_itself_has_few_blocks_and_too_many_bytes() -> None:
    uri, size, blocks = uri_of(b"x", Codec.RAW), 1, {uri_of(b"x", Codec.RAW): b"x"}
    for _ in range(3):
        block = encode((Link(uri, size, size),) * 1024)
        uri, size = uri_of(block, Codec.DAG_PB), size * 1024
        blocks[uri] = block
    with pytest.raises(FormatError, match="longer than"):
        Assembly(uri, 2**29, blocks.get)
    assert Assembly(uri, 2**30, blocks.get).missing == ()
    with pytest.raises(FormatError, match="more than 66560 blocks"):
        read_whole(uri, blocks.__getitem__, 2**30)


def padded(uri: Uri, size: int) -> tuple[Uri, bytes]:
    """A node over a file, of almost 2 MiB by the names of its links."""
    block = bytearray(encode((Link(uri, size, size),)))
    name = bytes(module.MAX_BLOCK_SIZE - 2**10)
    link = block[2:42]
    body = bytes(link[:38]) + b"\x12" + varint.encode(len(name)) + name
    node = b"\x12" + varint.encode(len(body)) + body + bytes(block[2 + block[1] :])
    return uri_of(node, Codec.DAG_PB), node


def test_nodes_that_are_longer_than_a_file_needs_are_refused() -> None:
    """A kilobyte below two nodes of 2 MiB each."""
    leaf = bytes(1000)
    uri, blocks = uri_of(leaf, Codec.RAW), {uri_of(leaf, Codec.RAW): leaf}
    for fits in (True, False):
        uri, block = padded(uri, len(leaf))
        blocks[uri] = block
        if fits:
            assert read_whole(uri, blocks.__getitem__, LIMIT) == leaf
            assert Assembly(uri, LIMIT, blocks.get).missing == ()
    for read in (
        lambda: Assembly(uri, LIMIT, blocks.get),
        lambda: read_whole(uri, blocks.__getitem__, LIMIT),
    ):
        with pytest.raises(FormatError, match="nodes of more than 2097167 bytes together"):
            read()


@pytest.mark.parametrize("limit", [MAX_REQUEST_BYTES, MAX_NODE_BYTES])
def test_a_bomb_of_one_block_linked_1024_times_is_refused_by_its_root(limit: int) -> None:
    """Finding 4: 1.1 MB that were sent, read as 1 GiB."""
    leaf = bytes(2**20)
    root, blocks = file_of([leaf] * 1024, 1024)
    assert len(blocks) == 2
    read: list[Uri] = []

    def here(uri: Uri) -> bytes:
        read.append(uri)
        return blocks[uri]

    for attempt in (lambda: Assembly(root, limit, here), lambda: read_whole(root, here, limit)):
        with pytest.raises(FormatError, match=f"longer than the {limit} bytes"):
            attempt()
    assert read == [root, root]


LEAF = uri_of(b"leaf", Codec.RAW)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ((Link(LEAF, 5, 5),), "holds 4 bytes, but its parent says 5"),
        ((Link(LEAF, 0, 0),), "holds 0 bytes, which is zero"),
        ((Link(LEAF, 4, 4), Link(LEAF, 3, 3)), "contradicts another node"),
    ],
)
def test_sizes_that_lie_are_refused(links: tuple[Link, ...], said: str) -> None:
    block = encode(links)
    root = uri_of(block, Codec.DAG_PB)
    with pytest.raises(FormatError, match=said):
        Assembly(root, LIMIT, {root: block, LEAF: b"leaf"}.get)


def test_what_is_no_node_is_refused() -> None:
    root = uri_of(b"\x0a\x02\x08\x01", Codec.DAG_PB)
    with pytest.raises(FormatError, match="type 1"):
        Assembly(root, LIMIT, lambda uri: b"\x0a\x02\x08\x01")
