// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title The curve y^2 = x^3 + 7 over F_p (SEC 2, section 2.4.1)
library Secp256k1 {
    /// @dev Order n of the group; prime.
    uint256 internal constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
    /// @dev p = 2^256 - 2^32 - 977.
    uint256 internal constant FIELD = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F;

    /// @notice Whether (x, y) is a point of the curve other than infinity, with x, y < p.
    /// @dev Every such point generates the group: the cofactor is 1.
    function isOnCurve(uint256 x, uint256 y) internal pure returns (bool) {
        if (x >= FIELD || y >= FIELD) return false;
        // y^2 = x^3 + 7 (mod p)
        return mulmod(y, y, FIELD) == addmod(mulmod(mulmod(x, x, FIELD), x, FIELD), 7, FIELD);
    }

    /// @notice keyId = H(Y.x || Y.y); its low 160 bits are address(Y).
    function keyId(uint256 x, uint256 y) internal pure returns (bytes32) {
        return keccak256(abi.encode(x, y));
    }

    /// @notice address(x, y) = the low 160 bits of H(x || y).
    function account(uint256 x, uint256 y) internal pure returns (address) {
        return address(uint160(uint256(keyId(x, y))));
    }

    /// @notice a + b in Jacobian coordinates (X / Z^2, Y / Z^3), for b = (x2, y2) in affine ones.
    /// @dev Handles every case: a = (., ., 0) is infinity, and so is the sum of opposite points.
    function add(uint256 x1, uint256 y1, uint256 z1, uint256 x2, uint256 y2)
        internal
        pure
        returns (uint256 x3, uint256 y3, uint256 z3)
    {
        if (z1 == 0) return (x2, y2, 1);
        unchecked {
            uint256 zz = mulmod(z1, z1, FIELD);
            uint256 h = addmod(mulmod(x2, zz, FIELD), FIELD - x1, FIELD);
            uint256 r = addmod(mulmod(y2, mulmod(z1, zz, FIELD), FIELD), FIELD - y1, FIELD);
            if (h == 0) return r == 0 ? _double(x2, y2) : (uint256(1), uint256(1), uint256(0));
            zz = mulmod(h, h, FIELD);
            uint256 v = mulmod(x1, zz, FIELD);
            zz = mulmod(h, zz, FIELD);
            x3 = addmod(addmod(mulmod(r, r, FIELD), FIELD - zz, FIELD), FIELD - addmod(v, v, FIELD), FIELD);
            y3 = addmod(mulmod(r, addmod(v, FIELD - x3, FIELD), FIELD), FIELD - mulmod(y1, zz, FIELD), FIELD);
            z3 = mulmod(z1, h, FIELD);
        }
    }

    /// @notice Converts a point from Jacobian to affine coordinates; (0, 0) for infinity.
    function affine(uint256 x, uint256 y, uint256 z) internal view returns (uint256, uint256) {
        if (z == 1) return (x, y);
        uint256 inverse = _inverse(z);
        uint256 square = mulmod(inverse, inverse, FIELD);
        return (mulmod(x, square, FIELD), mulmod(y, mulmod(square, inverse, FIELD), FIELD));
    }

    /// @dev 2 (x, y) in Jacobian coordinates; y is not 0, because the order is odd.
    function _double(uint256 x, uint256 y) private pure returns (uint256 x3, uint256 y3, uint256 z3) {
        unchecked {
            uint256 yy = mulmod(y, y, FIELD);
            uint256 s = mulmod(4, mulmod(x, yy, FIELD), FIELD);
            uint256 m = mulmod(3, mulmod(x, x, FIELD), FIELD);
            x3 = addmod(mulmod(m, m, FIELD), FIELD - addmod(s, s, FIELD), FIELD);
            y3 = addmod(
                mulmod(m, addmod(s, FIELD - x3, FIELD), FIELD), FIELD - mulmod(8, mulmod(yy, yy, FIELD), FIELD), FIELD
            );
            z3 = addmod(y, y, FIELD);
        }
    }

    /// @dev z^(p - 2) by the precompile of EIP-198: 1 / z, and 0 for 0.
    function _inverse(uint256 z) private view returns (uint256 inverse) {
        uint256 p = FIELD;
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, 0x20)
            mstore(add(words, 0x20), 0x20)
            mstore(add(words, 0x40), 0x20)
            mstore(add(words, 0x60), z)
            mstore(add(words, 0x80), sub(p, 2))
            mstore(add(words, 0xa0), p)
            pop(staticcall(gas(), 5, words, 0xc0, 0x00, 0x20))
            inverse := mload(0x00)
        }
    }
}
