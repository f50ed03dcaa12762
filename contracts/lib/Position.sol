// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Place of a model: `height << 32 | index`
/// @notice Heights of models start at 1, so no model's position is below 2^32.
library Position {
    /// @dev Index of a header's own position; no block has this many models.
    uint32 internal constant HEADER_INDEX = type(uint32).max;

    function pack(uint32 height_, uint32 index_) internal pure returns (uint64) {
        return (uint64(height_) << 32) | index_;
    }

    function ofHeader(uint32 height_) internal pure returns (uint64) {
        return pack(height_, HEADER_INDEX);
    }

    function height(uint64 position) internal pure returns (uint32) {
        return uint32(position >> 32);
    }

    function index(uint64 position) internal pure returns (uint32) {
        return uint32(position);
    }
}
