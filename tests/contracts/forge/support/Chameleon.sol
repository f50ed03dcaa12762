// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Opening} from "../../../../contracts/interfaces/ILiveChain.sol";
import {Curve, Point} from "./Curve.sol";

/// @notice Openings of the chameleon hash by its trapdoor (docs/explanation/chameleon-hash.md).
/// @dev Every number below n is a hash of every message, with an opening by the trapdoor.
library Chameleon {
    bytes32 private constant _CHALLENGE = keccak256("BlockFUL/CH/secp256k1-NR/v1/challenge");
    bytes32 private constant _FIRST = keccak256("BlockFUL/CH/secp256k1-NR/v1/first");
    bytes32 private constant _PHI = keccak256("BlockFUL/CH/secp256k1-NR/v1/phi");
    bytes32 private constant _LABEL = keccak256("BlockFUL/CH/secp256k1-NR/v1/label");
    bytes32 private constant _MESSAGE = keccak256("BlockFUL/CH/secp256k1-NR/v1/message");

    function label(uint256 chainId, address target, uint64 position) internal pure returns (bytes32) {
        return keccak256(abi.encode(_LABEL, chainId, target, position));
    }

    function message(uint32 version, bytes32 payload) internal pure returns (bytes32) {
        return keccak256(abi.encode(_MESSAGE, version, payload));
    }

    /// @notice The opening of `h` with P = +-kG, the sign that makes P.y even:
    /// r = h + phi(P), c = H(.., r), s = ck + x (mod n).
    function open(uint256 trapdoor, bytes32 keyId, bytes32 label_, bytes32 message_, uint256 h, uint256 k)
        internal
        returns (Opening memory)
    {
        Point memory p = Curve.base(k);
        if (p.y & 1 == 1) k = Curve.N - k;
        uint256 c = _challenge(keyId, label_, message_, h, p.x);
        return Opening(p.x, addmod(mulmod(c, k, Curve.N), trapdoor, Curve.N));
    }

    /// @notice A hash of `message_` with the first of its first openings from number `from` on.
    function first(uint256 trapdoor, bytes32 keyId, bytes32 label_, bytes32 message_, uint256 from)
        internal
        returns (uint256 h, Opening memory opening)
    {
        uint256 seed = _seed(keyId, label_, message_);
        uint256 s = uint256(keccak256(abi.encode(_FIRST, seed))) & ~uint256(63);
        return _hash(trapdoor, keyId, label_, message_, seed % Curve.N, s + from, s + 64);
    }

    /// @notice A hash whose opening has either r or s as a first one, and the other from `drawn`.
    function halfFirst(uint256 trapdoor, bytes32 keyId, bytes32 label_, bytes32 message_, bool r, uint256 drawn)
        internal
        returns (uint256 h, Opening memory opening)
    {
        uint256 seed = _seed(keyId, label_, message_);
        uint256 other = uint256(keccak256(abi.encode(drawn)));
        uint256 s = (r ? other : uint256(keccak256(abi.encode(_FIRST, seed)))) & ~uint256(63);
        return _hash(trapdoor, keyId, label_, message_, (r ? seed : other) % Curve.N, s, s + 64);
    }

    /// @dev P = c^-1 (sG - Y) = c^-1 (s - x) G for the first s with an even P.y, h = r - phi(P) (mod n).
    function _hash(uint256 trapdoor, bytes32 keyId, bytes32 label_, bytes32 message_, uint256 r, uint256 s, uint256 end)
        private
        returns (uint256 h, Opening memory opening)
    {
        uint256 c = uint256(keccak256(abi.encode(_CHALLENGE, keyId, label_, message_, r))) % Curve.N;
        uint256 inverse = Curve.power(c, Curve.N - 2, Curve.N);
        for (; s < end; ++s) {
            Point memory p = Curve.base(mulmod(inverse, addmod(s, Curve.N - trapdoor, Curve.N), Curve.N));
            if (p.y & 1 == 1) continue;
            uint256 phi = uint256(keccak256(abi.encode(_PHI, p.x))) % Curve.N;
            return (addmod(r, Curve.N - phi, Curve.N), Opening(p.x, s));
        }
        revert("no first opening");
    }

    function _seed(bytes32 keyId, bytes32 label_, bytes32 message_) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(_FIRST, keyId, label_, message_)));
    }

    /// @notice Whether `opening` opens `h`: sG = cP + Y.
    /// @dev ecrecover(-s px, 27, px, -c px) = address(sG - cP).
    function opens(bytes32 keyId, bytes32 label_, bytes32 message_, uint256 h, Opening memory opening)
        internal
        pure
        returns (bool)
    {
        uint256 c = _challenge(keyId, label_, message_, h, opening.px);
        bytes32 e = bytes32(Curve.N - mulmod(opening.s, opening.px, Curve.N));
        bytes32 t = bytes32(Curve.N - mulmod(c, opening.px, Curve.N));
        address key = address(uint160(uint256(keyId)));
        return key != address(0) && ecrecover(e, 27, bytes32(opening.px), t) == key;
    }

    function _challenge(bytes32 keyId, bytes32 label_, bytes32 message_, uint256 h, uint256 px)
        private
        pure
        returns (uint256)
    {
        uint256 r = addmod(h, uint256(keccak256(abi.encode(_PHI, px))), Curve.N);
        return uint256(keccak256(abi.encode(_CHALLENGE, keyId, label_, message_, r))) % Curve.N;
    }
}
