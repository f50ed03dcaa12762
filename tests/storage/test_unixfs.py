# SPDX-License-Identifier: Apache-2.0
"""CIDs equal Kubo's (its cid_profiles_test.go) and the ones of ipfs-unixfs-importer 17.1.1."""

from __future__ import annotations

import hashlib

import pytest
from Crypto.Cipher import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import FormatError
from blockful_py.storage import unixfs
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.storage.dag_pb import Link, decode, encode
from blockful_py.storage.unixfs import CHUNK_SIZE, MAX_LINKS, blocks_of, file_uri, read_file, write_file
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.conftest import Pattern
from tests.storage.dags import file_of

MIB = 2**20


@pytest.mark.parametrize(
    ("size", "cid"),
    [
        (0, "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"),
        (1, "bafkreidogqfzz75tpkmjzjke425xqcrmpcib2p5tg44hnbirumdbpl5adu"),
        (MIB, "bafkreidddocae7lltzjlkooe5a3tmiwsgazn7logjvqk7bzttsidpzhxne"),
        (MIB + 1, "bafybeieevljckxqzynw22oy4b22dpphvozdrzujb3h667rehhwwmz6b2ye"),
        (5 * MIB, "bafybeicm5foi4da7ss4rhpdrq6ucexoxn5tm5sfdjdkcnvlt6mqswvimpm"),
        (1100 * MIB, "bafybeihft5bvjoko2gyymhgcrr5khf47zm2ttdkisigpnqt2rusq5o3nh4"),
    ],
)
def test_cids_equal_those_of_ipfs_unixfs_importer(size: int, cid: str) -> None:
    stream = Pattern(size)
    assert cid_string(file_uri(stream)) == cid
    assert stream.largest_read <= CHUNK_SIZE


@pytest.mark.parametrize(
    ("size", "cid"),
    [
        (MIB, "bafkreiacndfy443ter6qr2tmbbdhadvxxheowwf75s6zehscklu6ezxmta"),
        (MIB + 1, "bafybeigmix7t42i6jacydtquhet7srwvgpizfg7gjbq7627d35mjomtu64"),
    ],
)
def test_cids_equal_those_that_kubo_records(size: int, cid: str) -> None:
    stream = ChaCha20.new(key=hashlib.sha256(b"chunk-v1-seed").digest(), nonce=bytes(12))
    assert cid_string(file_uri(stream.encrypt(bytes(size)))) == cid


def test_hello_world_is_a_raw_leaf() -> None:
    assert (
        cid_string(file_uri(b"hello world")) == "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
    )


@given(data=st.binary(max_size=200), links=st.integers(2, 4))
def test_reading_inverts_writing_for_every_shape_of_dag(data: bytes, links: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unixfs, "CHUNK_SIZE", 3)
        patch.setattr(unixfs, "MAX_LINKS", links)
        blocks: dict[Uri, bytes] = {}
        root = write_file(OneByOne(data), blocks.__setitem__)
    assert b"".join(read_file(root, blocks.__getitem__, ANY_SIZE)) == data
    assert set(blocks_of(root, blocks.__getitem__)) == set(blocks)
    assert _leaf_depths(root, blocks, 0) in ({d} for d in range(9))


@given(data=st.data())
def test_a_file_is_read_from_any_byte_on_without_the_leaves_before(data: st.DataObject) -> None:
    leaves = data.draw(st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=20))
    uri, blocks = file_of(leaves, data.draw(st.integers(2, 4)))
    whole = b"".join(leaves)
    begin = data.draw(st.integers(0, len(whole) + 2))
    got: list[Uri] = []

    def get(block: Uri) -> bytes:
        got.append(block)
        return blocks[block]

    assert b"".join(read_file(uri, get, len(whole), begin)) == whole[begin:]
    ends = [sum(map(len, leaves[: number + 1])) for number in range(len(leaves))]
    wanted = {uri_of(leaf, Codec.RAW) for leaf, end in zip(leaves, ends, strict=True) if end > begin}
    assert {each for each in got if each.codec is Codec.RAW} <= wanted | {uri}


def test_a_level_that_is_exactly_full_gets_no_node_above_it() -> None:
    blocks: dict[Uri, bytes] = {}
    root = write_file(Pattern(MAX_LINKS * MIB), blocks.__setitem__)
    assert len(decode(blocks[root]).links) == MAX_LINKS
    assert len(blocks) == 2  # one leaf, repeated, and the root


def test_a_child_of_another_size_than_its_parent_says_is_refused() -> None:
    blocks = {uri_of(b"abc", Codec.RAW): b"abc"}
    block = encode((Link(uri_of(b"abc", Codec.RAW), 4, 3),))
    root = uri_of(block, Codec.DAG_PB)
    with pytest.raises(FormatError, match="holds 3 bytes, but its parent says 4"):
        list(read_file(root, {**blocks, root: block}.__getitem__, ANY_SIZE))


def test_empty_children_are_refused_so_that_work_is_bounded_by_output() -> None:
    empty = uri_of(b"", Codec.RAW)
    block = encode((Link(empty, 0, 0),) * 1000)
    root = uri_of(block, Codec.DAG_PB)
    with pytest.raises(FormatError, match="holds 0 bytes"):
        list(read_file(root, {empty: b"", root: block}.__getitem__, ANY_SIZE))


def test_a_tower_of_nodes_is_refused() -> None:
    blocks = {uri_of(b"x", Codec.RAW): b"x"}
    uri = uri_of(b"x", Codec.RAW)
    for _ in range(9):
        block = encode((Link(uri, 1, 1),))
        uri = uri_of(block, Codec.DAG_PB)
        blocks[uri] = block
    with pytest.raises(FormatError, match="more than 8 levels"):
        list(read_file(uri, blocks.__getitem__, ANY_SIZE))


def test_an_oversized_block_is_refused() -> None:
    block = bytes(2 * MIB + 1)
    with pytest.raises(FormatError, match="2097153 bytes"):
        list(read_file(uri_of(block, Codec.RAW), lambda _uri: block, ANY_SIZE))


def test_a_node_that_is_not_a_file_names_its_cid() -> None:
    directory = b"\x0a\x02\x08\x01"
    uri = uri_of(directory, Codec.DAG_PB)
    with pytest.raises(FormatError, match=cid_string(uri)):
        list(read_file(uri, lambda _uri: directory, ANY_SIZE))


class OneByOne:
    """Gives one byte at a time, as a slow socket does."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, _count: int) -> bytes:
        first, self.data = self.data[:1], self.data[1:]
        return first


def _leaf_depths(uri: Uri, blocks: dict[Uri, bytes], depth: int) -> set[int]:
    if uri.codec is Codec.RAW:
        return {depth}
    return {d for link in decode(blocks[uri]).links for d in _leaf_depths(link.uri, blocks, depth + 1)}
