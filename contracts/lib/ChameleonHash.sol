// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Secp256k1} from "./Secp256k1.sol";

/// @notice Place in memory of the words that are hashed to check an opening, laid out once for many openings.
/// @dev Layout, in bytes:
///
///      0x000 label      DST_label | chainid | this | position
///      0x080 message    DST_message | version | payload
///      0x0e0 challenge  DST_challenge | keyId | label | message | r
type Transcript is uint256;

using ChameleonHash for Transcript global;

/// @title Schnorr-type chameleon hash after Ateniese and de Medeiros (SCN 2004), one ecrecover
/// @notice With H = keccak256 over 32-byte words, Y = xG the group key, keyId = H(Y.x || Y.y):
///
///     phi(P)    = H(DST_phi || P.x) mod n
///     r         = h + phi(P) mod n
///     c         = H(DST_challenge || keyId || label || message || r) mod n
///     valid     = 0 <= h < n, 0 < P.x < n, 0 < s < n, c != 0, P.y even, sG = cP + Y
///
/// The first opening of a hash follows from its message, up to 64 values of s:
///
///     seed      = H(DST_first || keyId || label || message)
///     first     = valid, r = seed mod n, floor(s / 64) = floor(H(DST_first || seed) / 64)
///
/// @dev ecrecover(e, 27, R.x, t) returns address(R.x^-1 (tR - eG)), R.y even. With R = P,
/// t = -c P.x and e = -s P.x this is address(sG - cP), which is address(Y) iff sG = cP + Y.
/// Derivation and argument: docs/explanation/chameleon-hash.md.
library ChameleonHash {
    bytes32 internal constant DST_CHALLENGE = keccak256("BlockFUL/CH/secp256k1-NR/v1/challenge");
    bytes32 internal constant DST_FIRST = keccak256("BlockFUL/CH/secp256k1-NR/v1/first");
    bytes32 internal constant DST_PHI = keccak256("BlockFUL/CH/secp256k1-NR/v1/phi");
    bytes32 internal constant DST_LABEL = keccak256("BlockFUL/CH/secp256k1-NR/v1/label");
    bytes32 internal constant DST_MESSAGE = keccak256("BlockFUL/CH/secp256k1-NR/v1/message");

    /// @notice Lays out the transcript of this contract's openings under the group key of `keyId`.
    function transcript(bytes32 keyId) internal view returns (Transcript prepared) {
        (bytes32 labelTag, bytes32 messageTag, bytes32 challengeTag) = (DST_LABEL, DST_MESSAGE, DST_CHALLENGE);
        assembly ("memory-safe") {
            prepared := mload(0x40)
            mstore(0x40, add(prepared, 0x180))
            mstore(prepared, labelTag)
            mstore(add(prepared, 0x20), chainid())
            mstore(add(prepared, 0x40), address())
            mstore(add(prepared, 0x80), messageTag)
            mstore(add(prepared, 0xe0), challengeTag)
            mstore(add(prepared, 0x100), keyId)
        }
    }

    /// @notice Whether (px, s) opens `h` to `payload` in `version` at `position` of this contract.
    function opens(
        Transcript prepared,
        uint256 position,
        uint256 version,
        bytes32 payload,
        uint256 h,
        uint256 px,
        uint256 s
    ) internal view returns (bool) {
        uint256 challenge;
        assembly ("memory-safe") {
            challenge := add(prepared, 0xe0)
            mstore(add(prepared, 0x60), position)
            // label = H(DST_label || chainid || this || position)
            mstore(add(prepared, 0x120), keccak256(prepared, 0x80))
            mstore(add(prepared, 0xa0), version)
            mstore(add(prepared, 0xc0), payload)
            // message = H(DST_message || version || payload)
            mstore(add(prepared, 0x140), keccak256(add(prepared, 0x80), 0x60))
        }
        return _check(challenge, h, px, s);
    }

    /// @notice Whether (px, s) is a first opening of `h`, to `payload` in version 0 at `position` of this contract.
    function opensFirst(Transcript prepared, uint256 position, bytes32 payload, uint256 h, uint256 px, uint256 s)
        internal
        view
        returns (bool first)
    {
        if (!opens(prepared, position, 0, payload, h, px, s)) return false;
        (bytes32 tag, bytes32 challengeTag) = (DST_FIRST, DST_CHALLENGE);
        uint256 n = Secp256k1.ORDER;
        assembly ("memory-safe") {
            let challenge := add(prepared, 0xe0)
            mstore(challenge, tag)
            let seed := keccak256(challenge, 0x80)
            mstore(challenge, challengeTag)
            mstore(0x00, tag)
            mstore(0x20, seed)
            // r stands behind the message.
            first := eq(mload(add(challenge, 0x80)), mod(seed, n))
            first := and(first, iszero(shr(6, xor(s, keccak256(0x00, 0x40)))))
        }
    }

    /// @notice Whether (px, s) opens `h` to `message` at `label` under the group key of `keyId`.
    /// @dev Never reverts.
    function verify(bytes32 keyId, bytes32 label, bytes32 message, uint256 h, uint256 px, uint256 s)
        internal
        view
        returns (bool)
    {
        bytes32 tag = DST_CHALLENGE;
        uint256 challenge;
        assembly ("memory-safe") {
            challenge := mload(0x40)
            mstore(0x40, add(challenge, 0xa0))
            mstore(challenge, tag)
            mstore(add(challenge, 0x20), keyId)
            mstore(add(challenge, 0x40), label)
            mstore(add(challenge, 0x60), message)
        }
        return _check(challenge, h, px, s);
    }

    /// @dev `words` is the place in memory of the challenge's five words; the last one, r, is written here.
    function _check(uint256 words, uint256 h, uint256 px, uint256 s) private view returns (bool valid) {
        bytes32 phiTag = DST_PHI;
        uint256 n = Secp256k1.ORDER;
        assembly ("memory-safe") {
            // s P.x mod n
            let sp := mulmod(s, px, n)
            // 0 <= h < n, 0 < P.x < n, 0 < s < n; for numbers below the prime n, s P.x = 0 mod n iff one of them is 0
            if and(and(lt(h, n), gt(sp, 0)), and(lt(px, n), lt(s, n))) {
                mstore(0x00, phiTag)
                mstore(0x20, px)
                // r = h + phi(P) mod n, phi(P) = H(DST_phi || P.x)
                mstore(add(words, 0x80), addmod(h, keccak256(0x00, 0x40), n))

                let input := mload(0x40)
                // t = n - c P.x = -c P.x mod n, c = H(DST_challenge || keyId || label || message || r)
                mstore(add(input, 0x60), sub(n, mulmod(keccak256(words, 0xa0), px, n)))
                // e = n - s P.x = -s P.x mod n
                mstore(input, sub(n, sp))
                mstore(add(input, 0x20), 27)
                mstore(add(input, 0x40), px)
                // ecrecover(e, 27, P.x, t) = address(sG - cP); it fails for c = 0 mod n, where t = n
                pop(staticcall(gas(), 1, input, 0x80, 0x00, 0x20))
                // address(Y) = keyId mod 2^160
                let expected := and(mload(add(words, 0x20)), 0xffffffffffffffffffffffffffffffffffffffff)
                // address(sG - cP) = address(Y); a failed recovery returns no bytes
                valid := and(eq(returndatasize(), 0x20), eq(mload(0x00), expected))
            }
        }
    }
}
