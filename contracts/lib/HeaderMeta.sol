// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice timestamp 64 | txCount 32 | version 32 | epoch 32, from the lowest bit.
type HeaderMeta is uint256;

using HeaderMetas for HeaderMeta global;

/// @title Fields of a HeaderMeta
library HeaderMetas {
    function pack(uint64 timestamp_, uint32 txCount_, uint32 version_, uint32 epoch_)
        internal
        pure
        returns (HeaderMeta)
    {
        return HeaderMeta.wrap(
            uint256(timestamp_) | (uint256(txCount_) << 64) | (uint256(version_) << 96) | (uint256(epoch_) << 128)
        );
    }

    function timestamp(HeaderMeta meta) internal pure returns (uint64) {
        return uint64(HeaderMeta.unwrap(meta));
    }

    function txCount(HeaderMeta meta) internal pure returns (uint32) {
        return uint32(HeaderMeta.unwrap(meta) >> 64);
    }

    function version(HeaderMeta meta) internal pure returns (uint32) {
        return uint32(HeaderMeta.unwrap(meta) >> 96);
    }

    function epoch(HeaderMeta meta) internal pure returns (uint32) {
        return uint32(HeaderMeta.unwrap(meta) >> 128);
    }
}
