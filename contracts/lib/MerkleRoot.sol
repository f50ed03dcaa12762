// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Root of OpenZeppelin's standard Merkle tree with the leaves in the given order
/// @notice The tree of m leaves is an array of 2m - 1 nodes with the leaves at the end, reversed,
/// and node i = H(min || max) over nodes 2i + 1 and 2i + 2; a pair is hashed in ascending order.
library MerkleRoot {
    /// @notice leaf = H(H(position || value)), words of 32 bytes: the leaf of ["uint256", "bytes32"].
    function leaf(uint256 position, uint256 value) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            mstore(0x00, position)
            mstore(0x20, value)
            mstore(0x00, keccak256(0x00, 0x40))
            hash := keccak256(0x00, 0x20)
        }
    }

    /// @notice Root over the first half (rounded up) of `nodes`, which has 2m - 1 words for m leaves.
    /// @dev Read backwards, the tree is a queue q with q[m + k] = H(q[2k], q[2k + 1]), and its last entry is the root.
    function root(bytes32[] memory nodes) internal pure returns (bytes32 last) {
        uint256 leaves = (nodes.length + 1) >> 1;
        assembly ("memory-safe") {
            let read := add(nodes, 0x20)
            let write := add(read, mul(leaves, 0x20))
            let end := add(read, mul(mload(nodes), 0x20))
            for {} lt(write, end) { write := add(write, 0x20) } {
                let a := mload(read)
                let b := mload(add(read, 0x20))
                let swap := mul(xor(a, b), lt(b, a))
                mstore(0x00, xor(a, swap))
                mstore(0x20, xor(b, swap))
                mstore(write, keccak256(0x00, 0x40))
                read := add(read, 0x40)
            }
            last := mload(sub(end, 0x20))
        }
    }
}
