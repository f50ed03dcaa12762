# SPDX-License-Identifier: Apache-2.0
"""CARs that implementations which are not ours read, and theirs that we read."""

from __future__ import annotations

import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from blockful_py.storage import ContentStore, car, cid_string
from blockful_py.storage.interface import FileStore
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Uri
from tests.ipfs.nodes import INSTALLED, NODE_ENVIRONMENT, IpfsNode
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN


@pytest.fixture
def ours(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "ours")


def whole(store: ContentStore, uri: Uri) -> bytes:
    return b"".join(car.write(uri, ((each, store.block(each)) for each in blocks_of(uri, store.block))))


@pytest.mark.parametrize("data", [b"", b"small", PATTERN + PATTERN[::-1] + b"end"])
def test_the_library_of_ipfs_writes_what_it_reads_of_ours_alike(ours: ContentStore, data: bytes) -> None:
    written = whole(ours, ours.add(data))
    theirs = subprocess.run(
        ["node", str(INSTALLED / "cars.mjs")],
        env=NODE_ENVIRONMENT,
        input=written,
        check=True,
        capture_output=True,
    )
    assert theirs.stdout == written


def test_the_node_imports_our_car(node: IpfsNode, store: FileStore, ours: ContentStore) -> None:
    data = uuid4().bytes + PATTERN * 2
    uri = ours.add(data)
    assert cid_string(uri).encode() in node.post("dag/import?pin-roots=true", whole(ours, uri))
    assert store.has(uri)
    assert store.read(uri, ANY_SIZE) == data


def test_the_nodes_car_is_read_by_us_and_equals_ours(
    node: IpfsNode, store: FileStore, ours: ContentStore
) -> None:
    data = uuid4().bytes + PATTERN + PATTERN[::-1]
    uri = store.add(data)
    theirs = node.post(f"dag/export?arg={cid_string(uri)}")
    assert ours.add(data) == uri
    assert dict(car.read(theirs)) == dict(car.read(whole(ours, uri)))
