// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice References of one model: up to four positions in one slot, lowest 64 bits first.
/// @dev An empty field is 0. With more than four, the first three stand in the slot, its fourth field
/// holds how many there are in all (below 2^32, so no position), and the rest is in `overflow`.
struct ReferenceSlots {
    uint256 packed;
    uint64[] overflow;
}

/// @title Storage and hash of a model's references
library References {
    uint256 private constant IN_SLOT = 4;

    /// @notice referencesHash = H(reference_0 || reference_1 || ...), words of 32 bytes.
    /// @dev The caller has checked that every word of `list` fits in 64 bits.
    function hash(uint64[] calldata list) internal pure returns (bytes32 digest) {
        assembly ("memory-safe") {
            let words := mload(0x40)
            let size := mul(list.length, 0x20)
            calldatacopy(words, list.offset, size)
            digest := keccak256(words, size)
        }
    }

    /// @notice The same hash over what is stored.
    function hash(ReferenceSlots storage slots) internal view returns (bytes32 digest) {
        uint256 packed = slots.packed;
        if (_overflows(packed)) return _hashLong(slots);
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, and(packed, 0xffffffffffffffff))
            mstore(add(words, 0x20), and(shr(64, packed), 0xffffffffffffffff))
            mstore(add(words, 0x40), and(shr(128, packed), 0xffffffffffffffff))
            mstore(add(words, 0x60), shr(192, packed))
            // count = [packed >= 1] + [packed >= 2^64] + [packed >= 2^128] + [packed >= 2^192]
            let low := add(gt(packed, 0), gt(packed, 0xffffffffffffffff))
            let high := add(gt(shr(128, packed), 0), gt(shr(192, packed), 0))
            digest := keccak256(words, shl(5, add(low, high)))
        }
    }

    /// @notice The slot of `length` references, whose first four fields are `packed`.
    function seal(uint256 packed, uint256 length) internal pure returns (uint256) {
        return length > IN_SLOT ? (packed << 64 >> 64) | (length << 192) : packed;
    }

    /// @notice Writes `list` to empty `slots`; `packed` is its `pack`.
    function store(ReferenceSlots storage slots, uint256 packed, uint64[] calldata list) internal {
        if (packed == 0) return;
        slots.packed = packed;
        if (list.length <= IN_SLOT) return;
        for (uint256 i = IN_SLOT - 1; i < list.length; ++i) {
            slots.overflow.push(list[i]);
        }
    }

    /// @notice The references by ascending position.
    function load(ReferenceSlots storage slots) internal view returns (uint64[] memory list) {
        uint256 packed = slots.packed;
        uint256 count = 0;
        if (_overflows(packed)) {
            count = packed >> 192;
        } else {
            for (uint256 rest = packed; rest != 0; rest >>= 64) {
                ++count;
            }
        }
        list = new uint64[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = count > IN_SLOT && i >= IN_SLOT - 1 ? slots.overflow[i + 1 - IN_SLOT] : uint64(packed >> (64 * i));
        }
    }

    /// @dev The fourth field is a count: 0 < field < 2^32.
    function _overflows(uint256 packed) private pure returns (bool) {
        uint256 fourth = packed >> 192;
        return fourth != 0 && fourth < 1 << 32;
    }

    function _hashLong(ReferenceSlots storage slots) private view returns (bytes32 digest) {
        uint64[] memory list = load(slots);
        assembly ("memory-safe") {
            digest := keccak256(add(list, 0x20), mul(mload(list), 0x20))
        }
    }
}
