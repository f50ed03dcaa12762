// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VM, Wallet} from "./Vm.sol";

struct Point {
    uint256 x;
    uint256 y;
}

/// @notice Arithmetic of secp256k1 for those who know the secrets; slow and not constant in time.
library Curve {
    uint256 internal constant P = 2 ** 256 - 2 ** 32 - 977;
    uint256 internal constant N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;

    /// @notice kG, 0 < k < n.
    function base(uint256 k) internal returns (Point memory) {
        Wallet memory wallet = VM.createWallet(k);
        return Point(wallet.publicKeyX, wallet.publicKeyY);
    }

    /// @notice a^e mod m, by the precompile of EIP-198.
    function power(uint256 a, uint256 e, uint256 m) internal view returns (uint256) {
        (bool done, bytes memory result) = address(5).staticcall(abi.encode(32, 32, 32, a, e, m));
        require(done, "modexp");
        return abi.decode(result, (uint256));
    }

    /// @notice The y with y^2 = x^3 + 7 and an even y; none where `exists` is false.
    function evenY(uint256 x) internal view returns (bool exists, uint256 y) {
        uint256 square = addmod(mulmod(mulmod(x, x, P), x, P), 7, P);
        y = power(square, (P + 1) / 4, P);
        exists = mulmod(y, y, P) == square;
        if (y & 1 == 1) y = P - y;
    }

    /// @notice scalars[i] * point, 0 < scalars[i] < n; the doublings of `point` are shared.
    function multiples(Point memory point, uint256[2] memory scalars) internal view returns (Point[2] memory products) {
        uint256[3] memory doubled = [point.x, point.y, 1];
        uint256[3][2] memory sums;
        unchecked {
            for (uint256 bit = 0; bit < 256; ++bit) {
                for (uint256 i = 0; i < 2; ++i) {
                    if ((scalars[i] >> bit) & 1 == 1) _add(sums[i], doubled);
                }
                _double(doubled);
            }
        }
        for (uint256 i = 0; i < 2; ++i) {
            products[i] = _affine(sums[i]);
        }
    }

    /// @dev (X / Z^2, Y / Z^3)
    function _affine(uint256[3] memory a) private view returns (Point memory) {
        uint256 inverse = power(a[2], P - 2, P);
        uint256 square = mulmod(inverse, inverse, P);
        return Point(mulmod(a[0], square, P), mulmod(a[1], mulmod(square, inverse, P), P));
    }

    /// @dev a = a + b in Jacobian coordinates; a may be infinity (Z = 0). Pre: a != b, a != -b, b is finite.
    function _add(uint256[3] memory a, uint256[3] memory b) private pure {
        if (a[2] == 0) {
            (a[0], a[1], a[2]) = (b[0], b[1], b[2]);
            return;
        }
        unchecked {
            uint256 zz = mulmod(b[2], b[2], P);
            uint256 u = mulmod(a[0], zz, P);
            uint256 t = mulmod(a[1], mulmod(b[2], zz, P), P);
            zz = mulmod(a[2], a[2], P);
            uint256 h = addmod(mulmod(b[0], zz, P), P - u, P);
            uint256 r = addmod(mulmod(b[1], mulmod(a[2], zz, P), P), P - t, P);
            require(h != 0, "sum of equal or opposite points");
            zz = mulmod(h, h, P);
            uint256 v = mulmod(u, zz, P);
            u = mulmod(h, zz, P);
            uint256 x = addmod(addmod(mulmod(r, r, P), P - u, P), P - addmod(v, v, P), P);
            a[0] = x;
            a[1] = addmod(mulmod(r, addmod(v, P - x, P), P), P - mulmod(t, u, P), P);
            a[2] = mulmod(mulmod(a[2], b[2], P), h, P);
        }
    }

    /// @dev a = 2a in Jacobian coordinates.
    function _double(uint256[3] memory a) private pure {
        unchecked {
            uint256 yy = mulmod(a[1], a[1], P);
            uint256 s = mulmod(4, mulmod(a[0], yy, P), P);
            uint256 m = mulmod(3, mulmod(a[0], a[0], P), P);
            uint256 x = addmod(mulmod(m, m, P), P - addmod(s, s, P), P);
            a[2] = mulmod(2, mulmod(a[1], a[2], P), P);
            a[1] = addmod(mulmod(m, addmod(s, P - x, P), P), P - mulmod(8, mulmod(yy, yy, P), P), P);
            a[0] = x;
        }
    }
}
