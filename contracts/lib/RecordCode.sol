// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Record} from "../interfaces/IArchiveRegistry.sol";
import {CreatedCode} from "./CreatedCode.sol";

/// @title The records of one transaction, stored as code
/// @notice The code for n records is, in bytes,
///
///     STOP 1 | index of the first record 8 | timestamp 8
///     n times: position 8 | version 4 | reason 1 | codec 1 | digest 32
///
/// The numbered codes of a contract hold all its records in order.
library RecordCode {
    uint256 private constant _HEAD = 17;
    uint256 private constant _RECORD = 46;
    /// @dev Most records of one code.
    uint256 internal constant MAX_RECORDS = (CreatedCode.MAX_SIZE - _HEAD) / _RECORD;
    /// @dev Words of an event before its packed records: time, head, place and length of the records.
    uint256 private constant _LOGGED = 4;

    /// @notice Code of records that is being written.
    /// @dev `code` is the memory address of the STOP byte.
    struct Draft {
        uint256 code;
        uint256 count;
    }

    /// @notice Allocates memory for `count` records, the first of which has index `first`.
    /// @dev Pre: count <= MAX_RECORDS; first, time < 2^64.
    function draft(uint256 count, uint256 first, uint256 time) internal pure returns (Draft memory made) {
        made.count = count;
        uint256 code = CreatedCode.allocate(_size(count), _LOGGED);
        made.code = code;
        assembly ("memory-safe") {
            mstore(code, or(shl(184, first), shl(120, time)))
        }
    }

    /// @notice Writes record `index` of the draft; records must be written in order.
    /// @dev Pre: `position`, `version`, `reason` and `codec` are in the range of their types.
    function write(
        Draft memory made,
        uint256 index,
        uint256 position,
        uint256 version,
        uint256 reason,
        uint256 codec,
        bytes32 digest
    ) internal pure {
        unchecked {
            uint256 at = made.code + _HEAD + _RECORD * index;
            uint256 fields = (((((position << 32) | version) << 8) | reason) << 8) | codec;
            assembly ("memory-safe") {
                mstore(at, shl(144, fields))
                mstore(add(at, 14), digest)
            }
        }
    }

    /// @notice Creates the contract whose code is the records; returns zero if the gas does not suffice.
    function create(Draft memory made) internal returns (address) {
        return CreatedCode.create(made.code, _size(made.count));
    }

    /// @notice Logs the records: topics `topic` and `first`, data abi.encode(time, head, records as in the code).
    /// @dev Call it after `create`, whose code it overwrites.
    function log(Draft memory made, bytes32 topic, uint256 first, uint256 time, bytes32 head) internal {
        uint256 code = made.code;
        unchecked {
            uint256 size = _RECORD * made.count;
            assembly ("memory-safe") {
                let packed := add(code, _HEAD)
                let data := sub(packed, 0x80)
                mstore(data, time)
                mstore(add(data, 0x20), head)
                mstore(add(data, 0x40), 0x60)
                mstore(add(data, 0x60), size)
                // Padding to whole words; Draft has room for it.
                mstore(add(packed, size), 0)
                log2(data, add(0x80, and(add(size, 31), not(31))), topic, first)
            }
        }
    }

    /// @notice Index of the first record of the code numbered `number`.
    function firstOf(uint256 number) internal view returns (uint256 index) {
        address code = CreatedCode.locate(number);
        assembly ("memory-safe") {
            mstore(0x00, 0)
            extcodecopy(code, 0x18, 1, 8)
            index := mload(0x00)
        }
    }

    /// @notice Time of the records of the code numbered `number`, and how many they are.
    function header(uint256 number) internal view returns (uint64 time, uint256 count) {
        address code = CreatedCode.locate(number);
        assembly ("memory-safe") {
            mstore(0x00, 0)
            extcodecopy(code, 0x18, 9, 8)
            time := mload(0x00)
        }
        count = (code.code.length - _HEAD) / _RECORD;
    }

    /// @notice Record `index` of the code numbered `number`. Pre: the code has this record.
    function read(uint256 number, uint256 index) internal view returns (Record memory) {
        address code = CreatedCode.locate(number);
        uint256 at = _HEAD + _RECORD * index;
        uint256 fields;
        bytes32 digest;
        assembly ("memory-safe") {
            extcodecopy(code, 0x00, at, _RECORD)
            fields := shr(144, mload(0x00))
            digest := mload(14)
        }
        return Record(uint64(fields >> 48), uint32(fields >> 16), uint8(fields >> 8), uint8(fields), digest);
    }

    /// @notice Size of the code of `count` records in bytes.
    function _size(uint256 count) private pure returns (uint256) {
        unchecked {
            return _HEAD + _RECORD * count;
        }
    }
}
