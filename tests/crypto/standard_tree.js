// SPDX-License-Identifier: Apache-2.0
// Reads [[position, ch], ...] and writes what OpenZeppelin's library makes of it.
const { StandardMerkleTree } = require("@openzeppelin/merkle-tree");

const values = JSON.parse(require("fs").readFileSync(0, "utf8"));
const trees = values.map((leaves) => StandardMerkleTree.of(leaves, ["uint256", "bytes32"], { sortLeaves: false }));
const shown = trees.map((tree, i) => ({ root: tree.root, proofs: values[i].map((_, j) => tree.getProof(j)) }));
process.stdout.write(JSON.stringify(shown));
