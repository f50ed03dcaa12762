// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {CreatedCode} from "./CreatedCode.sol";

/// @notice The constant fields of a header.
struct BlockFields {
    bytes32 parentHash;
    uint256 ch;
    bytes32 merkleRoot;
    uint64 timestamp;
}

/// @notice The constant fields of a model.
/// @dev Its references are `start` to `end - 1` of the block's references.
struct ModelFields {
    uint256 ch;
    address owner;
    uint16 start;
    uint16 end;
}

/// @title The constant parts of a block, stored as code
/// @notice The code for a block of n models is, in bytes,
///
///     STOP 1 | parentHash 32 | ch 32 | merkleRoot 32 | timestamp 8 | 0, 2
///     n times: ch 32 | owner 20 | number of references in the block up to and including this model 2
///     all references, 8 each
///
/// @dev The block at height h is the h-th contract that its creator makes.
library BlockCode {
    /// @dev Sizes in bytes.
    uint256 private constant _HEADER = 107;
    uint256 private constant _MODEL = 54;
    uint256 private constant _REFERENCE = 8;

    /// @notice Code of a block that is being written.
    /// @dev `code` is the memory address of the STOP byte.
    struct Draft {
        uint256 code;
        uint256 size;
        uint256 models;
        uint256 references;
    }

    /// @notice Size of a block's code in bytes.
    function sizeOf(uint256 models, uint256 references) internal pure returns (uint256) {
        unchecked {
            return _HEADER + _MODEL * models + _REFERENCE * references;
        }
    }

    /// @notice Allocates memory for a block with these total numbers of models and references.
    function draft(uint256 models, uint256 references) internal pure returns (Draft memory made) {
        made.size = sizeOf(models, references);
        made.models = models;
        made.code = CreatedCode.allocate(made.size, 0);
    }

    /// @notice Writes the model at `index`; models must be written in order.
    /// @dev Pre: owner < 2^160, and every word of `references` is below 2^64.
    function write(Draft memory made, uint256 index, uint256 ch, uint256 owner, uint64[] calldata references)
        internal
        pure
    {
        uint256 at;
        uint256 next;
        uint256 end;
        unchecked {
            at = made.code + _HEADER + _MODEL * index;
            next = made.code + sizeOf(made.models, made.references);
            end = made.references + references.length;
        }
        made.references = end;
        assembly ("memory-safe") {
            // Backwards, because each word spills into the previous field.
            mstore(add(at, 22), or(shl(16, owner), end))
            mstore(at, ch)
            for { let i := 0 } lt(i, references.length) { i := add(i, 1) } {
                mstore(add(next, mul(i, _REFERENCE)), shl(192, calldataload(add(references.offset, shl(5, i)))))
            }
        }
    }

    /// @notice Creates the contract whose code is the block; returns zero if the gas does not suffice.
    function create(Draft memory made, BlockFields memory fields) internal returns (address stored) {
        uint256 code = made.code;
        assembly ("memory-safe") {
            mstore(add(code, 75), shl(16, mload(add(fields, 0x60))))
            for { let field := 0 } lt(field, 0x60) { field := add(field, 0x20) } {
                mstore(add(add(code, 1), field), mload(add(fields, field)))
            }
        }
        stored = CreatedCode.create(code, made.size);
    }

    /// @notice The header of the block at `code`.
    function header(address code) internal view returns (BlockFields memory fields) {
        assembly ("memory-safe") {
            extcodecopy(code, fields, 1, 0x60)
            let time := add(fields, 0x60)
            mstore(time, 0)
            extcodecopy(code, add(time, 24), 97, 8)
        }
    }

    /// @notice Copies the model at `index` of the block at `code` to `fields`.
    /// @dev Pre: the block has this model.
    function read(address code, uint256 index, ModelFields memory fields) internal view {
        assembly ("memory-safe") {
            let at := add(_HEADER, mul(_MODEL, index))
            let scratch := mload(0x40)
            // previous model's end of references 2 | ch 32 | owner 20 | end 2
            extcodecopy(code, scratch, sub(at, 2), 56)
            mstore(fields, mload(add(scratch, 2)))
            mstore(add(fields, 0x20), shr(96, mload(add(scratch, 34))))
            mstore(add(fields, 0x40), shr(240, mload(scratch)))
            mstore(add(fields, 0x60), and(mload(add(scratch, 24)), 0xffff))
        }
    }

    /// @notice referencesHash = H(reference_0 || reference_1 || ...), words of 32 bytes; arguments as for `referencesOf`.
    function referencesHash(address code, uint256 models, ModelFields memory fields)
        internal
        view
        returns (bytes32 digest)
    {
        uint256 start = fields.start;
        uint256 count;
        unchecked {
            count = fields.end - start;
        }
        uint256 at = sizeOf(models, start);
        assembly ("memory-safe") {
            let words := mload(0x40)
            extcodecopy(code, words, at, mul(count, _REFERENCE))
            // Expands each 8 bytes to a word, from the last on.
            for { let i := count } gt(i, 0) {} {
                i := sub(i, 1)
                mstore(add(words, shl(5, i)), shr(192, mload(add(words, mul(i, _REFERENCE)))))
            }
            digest := keccak256(words, shl(5, count))
        }
    }

    /// @notice References of a model of the block at `code`, which has `models` models.
    function referencesOf(address code, uint256 models, ModelFields memory fields)
        internal
        view
        returns (uint64[] memory list)
    {
        uint256 start = fields.start;
        list = new uint64[](fields.end - start);
        uint256 at = sizeOf(models, start);
        assembly ("memory-safe") {
            // Expands each 8 bytes to a word, from the last on.
            let first := add(list, 0x20)
            let count := mload(list)
            extcodecopy(code, first, at, mul(count, _REFERENCE))
            for { let i := count } gt(i, 0) {} {
                i := sub(i, 1)
                mstore(add(first, shl(5, i)), shr(192, mload(add(first, mul(i, _REFERENCE)))))
            }
        }
    }
}
