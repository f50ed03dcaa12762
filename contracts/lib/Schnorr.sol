// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Secp256k1} from "./Secp256k1.sol";

/// @notice A Schnorr signature: address(R) of the nonce R = kG, and s = k + ex mod n.
struct Signature {
    address nonce;
    uint256 s;
}

/// @title Schnorr signatures on secp256k1, one ecrecover
/// @notice e = H(DST || X.x || X.y || nonce || digest) mod n over words of 32 bytes, and nonce = address(sG - eX).
/// Derivation, and the proof for sums of keys (Crites, Komlo and Maller 2021): docs/explanation/certificates.md.
library Schnorr {
    bytes32 internal constant DST_CHALLENGE = keccak256("BlockFUL/certificate/v1/challenge");

    /// @notice Whether the key (x, y) signed `digest`. Never reverts; a key of (0, 0) signs nothing.
    /// @dev ecrecover(h, v, r, t) returns address(r^-1 (tR - hG)) with R.x = r and R.y odd iff v = 28. With R = X, t =
    /// -eX.x and h = -sX.x this is address(sG - eX). It returns zero bytes unless 0 < X.x, t < n and X is on the curve.
    function verify(uint256 x, uint256 y, bytes32 digest, address nonce, uint256 s) internal view returns (bool valid) {
        bytes32 tag = DST_CHALLENGE;
        uint256 n = Secp256k1.ORDER;
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, tag)
            mstore(add(words, 0x20), x)
            mstore(add(words, 0x40), y)
            mstore(add(words, 0x60), nonce)
            mstore(add(words, 0x80), digest)
            let ex := mulmod(keccak256(words, 0xa0), x, n)
            let sx := mulmod(s, x, n)
            if and(and(gt(ex, 0), gt(sx, 0)), and(lt(x, n), lt(s, n))) {
                mstore(words, sub(n, sx))
                mstore(add(words, 0x20), add(27, and(y, 1)))
                mstore(add(words, 0x40), x)
                mstore(add(words, 0x60), sub(n, ex))
                pop(staticcall(gas(), 1, words, 0x80, 0x00, 0x20))
                // A failed recovery returns zero bytes.
                valid := and(eq(returndatasize(), 0x20), eq(mload(0x00), nonce))
            }
        }
    }
}
