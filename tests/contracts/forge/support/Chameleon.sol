// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Opening} from "../../../../contracts/interfaces/ILiveChain.sol";
import {Curve, Point} from "./Curve.sol";

/// @notice Openings of the chameleon hash by its trapdoor (docs/explanation/chameleon-hash.md).
/// @dev Every number below n is a hash of every message: an opening of a number drawn at random is a hash.
library Chameleon {
    bytes32 private constant _CHALLENGE = keccak256("BlockFUL/CH/secp256k1-NR/v1/challenge");
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
