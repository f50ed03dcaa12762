# SPDX-License-Identifier: Apache-2.0
"""A store on a real node."""

from __future__ import annotations

import io
import os

import pytest

from blockful_py.errors import BlockNotFoundError, FormatError
from blockful_py.storage import ContentStore, cid_string, file_uri
from blockful_py.storage.interface import FileStore
from blockful_py.storage.ipfs import IpfsStore
from blockful_py.storage.ipfs_api import IpfsApi
from blockful_py.storage.unixfs import blocks_of
from tests.ipfs.conftest import SECONDS
from tests.ipfs.nodes import IpfsNode
from tests.limits import ANY_SIZE

MIB = 2**20
IMPATIENT = 0.5
"""Seconds to look for a missing file."""


def fresh(size: int) -> bytes:
    """Bytes that no other test has stored."""
    return os.urandom(size)


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 3 * MIB + 7])
def test_what_was_added_is_read(store: FileStore, size: int) -> None:
    data = fresh(size)
    uri = store.add(data)
    assert uri == file_uri(data)
    assert store.read(uri, ANY_SIZE) == data
    assert store.has(uri)
    assert uri in list(store)
    store.delete(uri)
    assert not store.has(uri)
    assert uri not in list(store)


def test_a_store_in_a_folder_gives_and_reads_the_same_names(
    store: FileStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = ContentStore(tmp_path_factory.mktemp("folder"))
    data = fresh(2 * MIB + 5)
    uri = folder.add_stream(io.BytesIO(data))
    assert store.add_stream(io.BytesIO(data)) == uri
    assert store.add_pieces([data[:7], data[7:]]) == uri


def test_a_file_longer_than_the_limit_is_refused(store: FileStore) -> None:
    uri = store.add(fresh(2 * MIB))
    with pytest.raises(FormatError, match="longer than the 1048576 bytes"):
        store.read(uri, limit=MIB)


def test_deleting_removes_every_block_and_again_nothing(store: IpfsStore, node: IpfsNode) -> None:
    api = IpfsApi(node.api, IMPATIENT)
    kept = store.add(fresh(10))
    uri = store.add(fresh(2 * MIB + 1))
    blocks = list(blocks_of(uri, IpfsApi(node.api, SECONDS).get_block))
    assert len(blocks) == 4
    store.delete(uri)
    for block in blocks:
        with pytest.raises(BlockNotFoundError, match=cid_string(block)):
            api.get_block(block, offline=True)
    with pytest.raises(BlockNotFoundError, match="deleted"):
        IpfsStore(node.api, IMPATIENT).read(uri, ANY_SIZE)
    store.delete(uri)
    assert store.has(kept)


def test_deleting_spares_blocks_of_other_files(store: FileStore) -> None:
    data = fresh(MIB)
    long, short = store.add(data + b"tail"), store.add(data)
    store.delete(short)
    assert not store.has(short)
    assert store.read(long, ANY_SIZE) == data + b"tail"


def test_a_deletion_that_was_cut_short_is_completed(store: IpfsStore, node: IpfsNode) -> None:
    api = IpfsApi(node.api, IMPATIENT)
    uri = store.add(fresh(2 * MIB + 1))
    blocks = list(blocks_of(uri, IpfsApi(node.api, SECONDS).get_block))
    api.unpin(uri)
    api.remove_blocks(blocks[-1:])
    store.delete(uri)
    for block in blocks:
        with pytest.raises(BlockNotFoundError):
            api.get_block(block, offline=True)


def test_what_the_node_keeps_for_others_is_left_alone(store: FileStore, node: IpfsNode) -> None:
    api = IpfsApi(node.api, SECONDS)
    data = fresh(100)
    theirs = file_uri(data)
    api.put_block(theirs, data)
    api.pin(theirs)
    store.delete(store.add(fresh(50)))
    assert api.is_pinned(theirs)


def test_an_unknown_file_is_named(node: IpfsNode) -> None:
    store = IpfsStore(node.api, IMPATIENT)
    uri = file_uri(b"elsewhere")
    assert not store.has(uri)
    with pytest.raises(BlockNotFoundError, match=cid_string(uri)):
        store.read(uri, ANY_SIZE)
