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
}
