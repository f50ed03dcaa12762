# SPDX-License-Identifier: Apache-2.0
"""OpenZeppelin's Merkle trees, with unsorted leaves.

Same as `StandardMerkleTree` of @openzeppelin/merkle-tree with `sortLeaves: false`; `MerkleProof.verify` of
@openzeppelin/contracts accepts the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.crypto.keccak import keccak, words
from blockful_py.types import Bytes32


def standard_leaf(encoded: bytes) -> bytes:
    """Leaf keccak256(keccak256(encoded)).

    `encoded` is the result of `abi.encode`: whole words, so an inner node cannot pass as a leaf.  Raises
    ValueError for other lengths.
    """
    if not encoded or len(encoded) % 32:
        raise ValueError(f"a leaf is made of whole 32-byte words, not of {len(encoded)} bytes")
    return keccak(keccak(encoded))


def action_leaf(
    chain_id: int, target: bytes, selector: bytes, chunk: int, chunks: int, digest: Bytes32
) -> bytes:
    """Leaf of one chunk of one action in a certificate's content (IQuorum, `Action`).

    keccak256(keccak256(abi.encode(chainid, target, selector, chunk, chunks, digest))); `target` has 20 bytes,
    `selector` 4, `digest` 32.  Raises ValueError for other lengths.
    """
    if (len(target), len(selector), len(digest)) != (20, 4, 32):
        raise ValueError("target, selector and digest have 20, 4 and 32 bytes")
    return standard_leaf(words(chain_id, target, selector + bytes(28), chunk, chunks, digest))


class MerkleTree:
    """A tree over at least one leaf of 32 bytes.

    A heap of 2n - 1 nodes: node i is the parent of 2i + 1 and 2i + 2, leaf j is node 2n - 2 - j. Raises
    ValueError without leaves or for a leaf of another length.
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        if not leaves or any(len(leaf) != 32 for leaf in leaves):
            raise ValueError("a Merkle tree is over one leaf or more, 32 bytes each")
        self._count = len(leaves)
        nodes = [b""] * (self._count - 1) + list(reversed(leaves))
        for i in reversed(range(self._count - 1)):
            nodes[i] = _parent(nodes[2 * i + 1], nodes[2 * i + 2])
        self._nodes = nodes

    @property
    def root(self) -> bytes:
        return self._nodes[0]

    def proof(self, index: int) -> tuple[bytes, ...]:
        """Siblings of leaf `index` from the bottom up.  Raises IndexError beyond the leaves."""
        if not 0 <= index < self._count:
            raise IndexError(f"the tree has {self._count} leaves; there is no leaf {index}")
        path = []
        node = len(self._nodes) - 1 - index
        while node > 0:
            path.append(self._nodes[node + 1 if node % 2 else node - 1])
            node = (node - 1) // 2
        return tuple(path)


def root(leaves: Sequence[bytes]) -> bytes:
    """Root over the leaves in this order."""
    return MerkleTree(leaves).root


def proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Proof of one leaf; for many leaves, `MerkleTree.proof` is cheaper."""
    return MerkleTree(leaves).proof(index)


def verify(root: bytes, leaf: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` leads from `leaf` to `root` by sorted pairs."""
    node = leaf
    for sibling in proof:
        if len(sibling) != 32:
            return False
        node = _parent(node, sibling)
    return node == root


def _parent(a: bytes, b: bytes) -> bytes:
    return keccak(a + b if a < b else b + a)
