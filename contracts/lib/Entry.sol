// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice What changes of a header or a model, its URI apart: 64 bits, four to a slot.
/// @dev From the lowest bit: of a header version 20 | epoch 20 | models 8; of a model version 20 | epoch 20 |
/// dag-pb 1 | batch 23. `batch` numbers the proposal in several chunks that last redacted the model; 0 when it
/// had one chunk. A slot holds the entries 4k to 4k + 3 of a block, lowest first: its header's, then its models'.
type Entry is uint256;

using Entries for Entry global;

/// @title Fields of an Entry, and its place
library Entries {
    /// @dev Of versions and epochs.
    uint256 internal constant LIMIT = 1 << 20;
    /// @dev Of batches.
    uint256 internal constant BATCH_LIMIT = 1 << 23;

    uint256 private constant _MASK = type(uint64).max;
    uint8 private constant _RAW = 0x55;
    uint8 private constant _DAG_PB = 0x70;

    /// @notice Key of the slot of a block's entry; 0 is its header's, i + 1 that of its model i.
    function key(uint256 height, uint256 number) internal pure returns (uint256) {
        return (height << 32) | (number >> 2);
    }

    /// @notice The entry `number` of a block in the slot that holds it.
    function at(uint256 slot, uint256 number) internal pure returns (Entry) {
        return Entry.wrap((slot >> ((number & 3) << 6)) & _MASK);
    }

    /// @notice The slot with another entry `number`.
    function put(uint256 slot, uint256 number, Entry entry) internal pure returns (uint256) {
        uint256 shift = (number & 3) << 6;
        return (slot & ~(_MASK << shift)) | (Entry.unwrap(entry) << shift);
    }

    /// @dev Pre: version_, epoch_ < LIMIT, models_ < 2^8.
    function ofHeader(uint256 version_, uint256 epoch_, uint256 models_) internal pure returns (Entry) {
        return Entry.wrap(version_ | (epoch_ << 20) | (models_ << 40));
    }

    /// @dev Pre: version_, epoch_ < LIMIT, codec_ is raw or dag-pb, batch_ < BATCH_LIMIT.
    function ofModel(uint256 version_, uint256 epoch_, uint256 codec_, uint256 batch_) internal pure returns (Entry) {
        return Entry.wrap(version_ | (epoch_ << 20) | (uint256(codec_ == _DAG_PB ? 1 : 0) << 40) | (batch_ << 41));
    }

    function version(Entry entry) internal pure returns (uint256) {
        return Entry.unwrap(entry) & (LIMIT - 1);
    }

    function epoch(Entry entry) internal pure returns (uint256) {
        return (Entry.unwrap(entry) >> 20) & (LIMIT - 1);
    }

    /// @notice Of a header: models of its block; 0 for none.
    function models(Entry entry) internal pure returns (uint256) {
        return (Entry.unwrap(entry) >> 40) & 0xff;
    }

    /// @notice Of a model: codec of its URI.
    function codec(Entry entry) internal pure returns (uint8) {
        return (Entry.unwrap(entry) >> 40) & 1 == 0 ? _RAW : _DAG_PB;
    }

    /// @notice Of a model.
    function batch(Entry entry) internal pure returns (uint256) {
        return Entry.unwrap(entry) >> 41;
    }
}
