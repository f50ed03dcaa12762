// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Secp256k1} from "../../contracts/lib/Secp256k1.sol";

/// @title The hash that docs/explanation/chameleon-hash.md falls back on: committed to, or signed
/// @notice To be measured, not to be used. With H = keccak256 over 32-byte words and Y the group key:
///
///     committed = h = H(DST_commit || label || message || salt)
///     signed    = 0 < P.x < n, 0 < s < n, P.y even, sG = cP + Y, where
///                 c = H(DST_sign || keyId || label || message || h || P.x) mod n, c != 0
contract SignedHash {
    bytes32 internal constant DST_COMMIT = keccak256("BlockFUL/signed hash/v1/commit");
    bytes32 internal constant DST_SIGN = keccak256("BlockFUL/signed hash/v1/sign");

    /// @notice Whether `salt` opens `h` to `message` at `label`: anybody's first opening.
    function committed(bytes32 label, bytes32 message, bytes32 h, bytes32 salt) public pure returns (bool) {
        return keccak256(abi.encode(DST_COMMIT, label, message, salt)) == h;
    }

    /// @notice Whether (px, s) opens `h` to `message` at `label`: t members' later openings.
    function signed(bytes32 keyId, bytes32 label, bytes32 message, bytes32 h, uint256 px, uint256 s)
        public
        view
        returns (bool valid)
    {
        bytes32 tag = DST_SIGN;
        uint256 n = Secp256k1.ORDER;
        assembly ("memory-safe") {
            let sp := mulmod(s, px, n)
            if and(gt(sp, 0), and(lt(px, n), lt(s, n))) {
                let input := mload(0x40)
                mstore(input, tag)
                mstore(add(input, 0x20), keyId)
                mstore(add(input, 0x40), label)
                mstore(add(input, 0x60), message)
                mstore(add(input, 0x80), h)
                mstore(add(input, 0xa0), px)
                // ecrecover(n - s P.x, 27, P.x, n - c P.x) = address(sG - cP)
                mstore(add(input, 0x60), sub(n, mulmod(keccak256(input, 0xc0), px, n)))
                mstore(input, sub(n, sp))
                mstore(add(input, 0x20), 27)
                mstore(add(input, 0x40), px)
                pop(staticcall(gas(), 1, input, 0x80, 0x00, 0x20))
                let expected := and(keyId, 0xffffffffffffffffffffffffffffffffffffffff)
                valid := and(eq(returndatasize(), 0x20), eq(mload(0x00), expected))
            }
        }
    }

    /// @return spent Gas of `committed` alone.
    function gasOfCommitted(bytes32 label, bytes32 message, bytes32 h, bytes32 salt)
        external
        view
        returns (uint256 spent)
    {
        spent = gasleft();
        bool valid = committed(label, message, h, salt);
        spent -= gasleft();
        require(valid, "the salt does not open");
    }

    /// @return spent Gas of `signed` alone.
    function gasOfSigned(bytes32 keyId, bytes32 label, bytes32 message, bytes32 h, uint256 px, uint256 s)
        external
        view
        returns (uint256 spent)
    {
        spent = gasleft();
        bool valid = signed(keyId, label, message, h, px, s);
        spent -= gasleft();
        require(valid, "the signature does not open");
    }
}
