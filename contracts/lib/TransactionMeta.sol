// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice owner 160 | version 32 | epoch 32 | codec 8 | batch 24, from the lowest bit: one slot, one write.
/// @dev `batch` numbers the proposal in several chunks that last redacted the model; 0 when it had one chunk.
type TransactionMeta is uint256;

using TransactionMetas for TransactionMeta global;

/// @title Fields of a TransactionMeta
library TransactionMetas {
    /// @dev epoch and batch in their places: what all transactions of one action have in common.
    function stamp(uint32 epoch_, uint24 batch_) internal pure returns (uint256) {
        return (uint256(epoch_) << 192) | (uint256(batch_) << 232);
    }

    /// @dev Pre: owner_ < 2^160, version_ < 2^32, codec_ < 2^8, and stamp_ is a `stamp`.
    function pack(uint256 owner_, uint256 version_, uint256 codec_, uint256 stamp_)
        internal
        pure
        returns (TransactionMeta)
    {
        return TransactionMeta.wrap(owner_ | (version_ << 160) | (codec_ << 224) | stamp_);
    }

    function owner(TransactionMeta meta) internal pure returns (address) {
        return address(uint160(TransactionMeta.unwrap(meta)));
    }

    function version(TransactionMeta meta) internal pure returns (uint32) {
        return uint32(TransactionMeta.unwrap(meta) >> 160);
    }

    function epoch(TransactionMeta meta) internal pure returns (uint32) {
        return uint32(TransactionMeta.unwrap(meta) >> 192);
    }

    function codec(TransactionMeta meta) internal pure returns (uint8) {
        return uint8(TransactionMeta.unwrap(meta) >> 224);
    }

    function batch(TransactionMeta meta) internal pure returns (uint24) {
        return uint24(TransactionMeta.unwrap(meta) >> 232);
    }
}
