// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice The changing fields of a header or a model, without its URI: 64 bits, four entries to a slot.
/// @dev Layout, from the lowest bit:
///
///      header:  offset  bits  field                 model:  offset  bits  field
///                    0    20  version                            0    20  version
///                   20    20  epoch                             20    20  epoch
///                   40     8  models of its block               40     1  codec of its URI: 0 raw, 1 dag-pb
///                   48    16  0                                 41    23  batch
///
/// `batch` numbers the proposal in several chunks that last redacted the model; 0 when it had one chunk.
/// A slot holds the entries 4k to 4k + 3 of a block, the lowest first: its header's entry, then its models'.
type Entry is uint256;

using Entries for Entry global;

/// @title Fields of an Entry, and its place in storage
library Entries {
    /// @dev Exclusive upper bound of versions and epochs: 20 bits.
    uint256 internal constant LIMIT = 1 << 20;
    /// @dev Exclusive upper bound of batches: 23 bits.
    uint256 internal constant BATCH_LIMIT = 1 << 23;

    uint256 private constant _MASK = type(uint64).max;
    uint8 private constant _RAW = 0x55;
    uint8 private constant _DAG_PB = 0x70;

    /// @notice Key of the slot of entry `number` of a block: 0 is its header, i + 1 its model i.
    function key(uint256 height, uint256 number) internal pure returns (uint256) {
        return (height << 32) | (number >> 2);
    }

    /// @notice Reads entry `number` of a block from its slot.
    function at(uint256 slot, uint256 number) internal pure returns (Entry) {
        return Entry.wrap((slot >> ((number & 3) << 6)) & _MASK);
    }

    /// @notice Replaces entry `number` in its slot.
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

    /// @notice Number of models in a header's block; it may be 0.
    function models(Entry entry) internal pure returns (uint256) {
        return (Entry.unwrap(entry) >> 40) & 0xff;
    }

    /// @notice Codec of a model's URI.
    function codec(Entry entry) internal pure returns (uint8) {
        return (Entry.unwrap(entry) >> 40) & 1 == 0 ? _RAW : _DAG_PB;
    }

    /// @notice Number of the proposal in several chunks that last redacted a model; 0 without one.
    function batch(Entry entry) internal pure returns (uint256) {
        return Entry.unwrap(entry) >> 41;
    }
}
