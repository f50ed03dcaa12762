# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from blockful_py.crypto import merkle, payload
from blockful_py.crypto.keccak import keccak, selector
from blockful_py.types import Position

ROOT = Path(__file__).parents[2]
SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 50]


def content(size: int) -> list[tuple[Position, int]]:
    return [(Position(7, i), int.from_bytes(keccak(bytes([i])), "big")) for i in range(size)]


def test_equals_openzeppelins_library() -> None:
    given = [[[str(p.packed), f"0x{ch:064x}"] for p, ch in content(size)] for size in SIZES]
    finished = subprocess.run(
        ["node", str(Path(__file__).with_name("standard_tree.js"))],
        input=json.dumps(given),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for size, expected in zip(SIZES, json.loads(finished.stdout), strict=True):
        leaves = [payload.block_leaf(position, ch) for position, ch in content(size)]
        tree = merkle.MerkleTree(leaves)
        assert "0x" + tree.root.hex() == expected["root"]
        assert [["0x" + node.hex() for node in tree.proof(i)] for i in range(size)] == expected["proofs"]


@pytest.mark.parametrize("size", SIZES)
def test_each_proof_holds_for_its_leaf_only(size: int) -> None:
    leaves = [payload.block_leaf(position, ch) for position, ch in content(size)]
    root = merkle.root(leaves)
    for i, leaf in enumerate(leaves):
        path = merkle.proof(leaves, i)
        assert merkle.verify(root, leaf, path)
        assert not merkle.verify(root, keccak(leaf), path)
        assert not merkle.verify(keccak(root), leaf, path)
        if path:
            assert not merkle.verify(root, leaf, path[1:])
            assert not merkle.verify(root, leaf, (*path[:-1], keccak(path[-1])))
            assert not merkle.verify(root, leaf, (*path[:-1], path[-1][:31]))


def test_the_order_of_leaves_matters() -> None:
    leaves = [keccak(bytes([i])) for i in range(5)]
    assert merkle.root(leaves) != merkle.root(leaves[::-1])


def test_leaves_are_hashed_twice_over_whole_words() -> None:
    assert merkle.standard_leaf(bytes(64)) == keccak(keccak(bytes(64)))
    for encoded in (b"", bytes(31), bytes(65)):
        with pytest.raises(ValueError, match="32-byte words"):
            merkle.standard_leaf(encoded)


def test_no_leaves_short_leaves_and_no_such_leaf() -> None:
    for leaves in ([], [bytes(31)]):
        with pytest.raises(ValueError, match="one leaf or more"):
            merkle.root(leaves)
    for index in (-1, 2):
        with pytest.raises(IndexError, match="2 leaves"):
            merkle.proof([bytes(32), bytes(32)], index)


def test_action_leaf_is_the_abi_encoding_hashed_twice() -> None:
    chosen = selector("append(bytes32)")
    leaf = merkle.action_leaf(1337, b"\xaa" * 20, chosen, 1, 2, b"\xdd" * 32)
    encoded = "".join(
        [
            f"{1337:064x}",
            "00" * 12 + "aa" * 20,
            chosen.hex() + "00" * 28,
            f"{1:064x}",
            f"{2:064x}",
            "dd" * 32,
        ]
    )
    assert leaf == keccak(keccak(bytes.fromhex(encoded)))
    with pytest.raises(ValueError, match="20, 4 and 32"):
        merkle.action_leaf(1337, b"\xaa" * 20, chosen + b"\0", 1, 2, b"\xdd" * 32)
