# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto import merkle
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng

LEAVES = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=40)


@given(LEAVES, st.data())
def test_each_leaf_has_a_proof_that_no_other_value_has(leaves: list[bytes], data: st.DataObject) -> None:
    tree = merkle.MerkleTree(leaves)
    index = data.draw(st.integers(0, len(leaves) - 1))
    assert merkle.verify(tree.root, leaves[index], tree.proof(index))
    assert not merkle.verify(tree.root, keccak(leaves[index]), tree.proof(index))


@given(LEAVES, st.data())
def test_changing_a_leaf_changes_the_root(leaves: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    changed = [*leaves[:index], keccak(leaves[index]), *leaves[index + 1 :]]
    assert merkle.root(changed) != merkle.root(leaves)


@given(st.binary(), st.lists(st.text() | st.integers() | st.binary(), max_size=4))
def test_a_seeded_generator_repeats_itself(seed: bytes, labels: list[str | int | bytes]) -> None:
    assert SeededRng(seed, *labels)(40) == SeededRng(seed, *labels)(40)
    assert SeededRng(seed, *labels)(40) != SeededRng(seed, *labels, "")(40)
