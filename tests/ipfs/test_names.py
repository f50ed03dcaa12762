# SPDX-License-Identifier: Apache-2.0
"""The same names and bytes as implementations that are not ours."""

from __future__ import annotations

import json
import subprocess
from uuid import uuid4

import pytest

from blockful_py.storage import cid_string, file_uri, parse_cid
from blockful_py.storage.interface import FileStore
from tests.ipfs.nodes import INSTALLED, NODE_ENVIRONMENT, IpfsNode
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN, Pattern

MIB = 2**20
SIZES = (0, 1, MIB, MIB + 1, 5 * MIB, 1100 * MIB)


def test_cids_equal_those_of_the_importer_of_ipfs() -> None:
    theirs = subprocess.run(
        ["node", str(INSTALLED / "cids.mjs"), *map(str, SIZES)],
        env=NODE_ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert theirs == [cid_string(file_uri(Pattern(size))) for size in SIZES]


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 5 * MIB])
def test_the_node_names_a_file_as_we_do(node: IpfsNode, size: int) -> None:
    data = (PATTERN * 5)[:size]
    options = "cid-version=1&raw-leaves=true&chunker=size-1048576&only-hash=true"
    assert _add(node, data, options) == cid_string(file_uri(data))


@pytest.mark.parametrize("options", ["cid-version=1&raw-leaves=true", "cid-version=1&raw-leaves=false"])
def test_a_file_that_the_node_added_in_its_own_way_is_read_by_us(
    node: IpfsNode, store: FileStore, options: str
) -> None:
    data = uuid4().bytes + PATTERN
    uri = parse_cid(_add(node, data, options))
    assert uri != file_uri(data)
    assert store.read(uri, ANY_SIZE) == data
    assert store.has(uri)


def test_a_file_that_we_added_is_read_by_the_node(node: IpfsNode, store: FileStore) -> None:
    data = uuid4().bytes + PATTERN * 2
    assert node.post(f"cat?arg={cid_string(store.add(data))}") == data


def _add(node: IpfsNode, data: bytes, options: str) -> str:
    """The CID that the node's own importer gives."""
    answer = node.post(f"add?cid-base=base32&{options}", data)
    return str(json.loads(answer.splitlines()[-1])["Hash"])
