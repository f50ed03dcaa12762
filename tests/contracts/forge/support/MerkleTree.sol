// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice OpenZeppelin's standard tree with the leaves in the order given: an array of 2m - 1 nodes, leaf i at
/// 2m - 2 - i, the children of node i at 2i + 1 and 2i + 2.
library MerkleTree {
    function build(bytes32[] memory leaves) internal pure returns (bytes32[] memory nodes) {
        uint256 last = 2 * leaves.length - 2;
        nodes = new bytes32[](last + 1);
        for (uint256 i = 0; i < leaves.length; ++i) {
            nodes[last - i] = leaves[i];
        }
        for (uint256 i = leaves.length - 1; i > 0; --i) {
            nodes[i - 1] = _pair(nodes[2 * i - 1], nodes[2 * i]);
        }
    }

    /// @notice The siblings from leaf `index` of the tree to its root.
    function path(bytes32[] memory nodes, uint256 index) internal pure returns (bytes32[] memory siblings) {
        uint256 node = nodes.length - 1 - index;
        uint256 depth = 0;
        for (uint256 above = node; above > 0; above = (above - 1) / 2) {
            ++depth;
        }
        siblings = new bytes32[](depth);
        for (uint256 i = 0; i < depth; ++i) {
            siblings[i] = nodes[node % 2 == 1 ? node + 1 : node - 1];
            node = (node - 1) / 2;
        }
    }

    function _pair(bytes32 a, bytes32 b) private pure returns (bytes32) {
        return a < b ? keccak256(abi.encode(a, b)) : keccak256(abi.encode(b, a));
    }
}
