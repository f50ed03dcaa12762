// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Data stored as the code of contracts: 200 gas a byte, read in one piece
/// @notice A contract that creates nothing else finds its n-th piece of data at the address of its n-th creation.
/// @dev The first byte is STOP, so that nobody can run the data.
library CreatedCode {
    /// @dev Maximum size in bytes (EIP-170).
    uint256 internal constant MAX_SIZE = 24_576;
    /// @dev Creation code that returns the code after it, and its length.
    uint256 private constant _CREATION = 0x600b5981380380925939f3;
    uint256 private constant _CREATION_SIZE = 11;

    /// @notice Allocates memory for `size` bytes, and for `room` words before them; returns their place.
    /// @dev The last field may be written as a whole word.
    function allocate(uint256 size, uint256 room) internal pure returns (uint256 code) {
        assembly ("memory-safe") {
            code := add(add(mload(0x40), 0x20), shl(5, room))
            mstore(0x40, and(add(add(code, size), 63), not(31)))
        }
    }

    /// @notice Creates the contract of the `size` bytes at `code`, STOP first; returns zero if the gas does not
    /// suffice.
    /// @dev Overwrites the word before `code`.
    function create(uint256 code, uint256 size) internal returns (address stored) {
        assembly ("memory-safe") {
            mstore(sub(code, 0x20), _CREATION)
            mstore8(code, 0)
            stored := create(0, sub(code, _CREATION_SIZE), add(size, _CREATION_SIZE))
        }
    }

    /// @notice Address of this contract's creation `ordinal`, from 1: low 160 bits of H(rlp([this, ordinal])).
    /// @dev rlp: d6 94 | this 20 | ordinal for ordinals below 0x80; for greater ones of k bytes
    /// d6 + k | 94 | this 20 | 80 + k | ordinal k.
    function locate(uint256 ordinal) internal view returns (address code) {
        assembly ("memory-safe") {
            let rest := ordinal
            let bits := 8
            if gt(ordinal, 0x7f) {
                let size := 0
                for { let high := ordinal } gt(high, 0) { high := shr(8, high) } { size := add(size, 1) }
                bits := add(shl(3, size), 8)
                rest := or(shl(sub(bits, 8), add(0x80, size)), ordinal)
            }
            // d6 + k, where k = bits / 8 - 1
            let head := or(shl(8, add(0xd5, shr(3, bits))), 0x94)
            let data := or(or(shl(add(160, bits), head), shl(bits, address())), rest)
            mstore(0x00, shl(sub(80, bits), data))
            code := and(keccak256(0x00, add(22, shr(3, bits))), 0xffffffffffffffffffffffffffffffffffffffff)
        }
    }
}
