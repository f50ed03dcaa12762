// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Curve, Point} from "./Curve.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Proofs that Chainlink's VRF.sol accepts (docs/reference/vrf.md).
library VrfProver {
    struct Secrets {
        uint256 x;
        uint256 k;
        uint256 alpha;
    }

    /// @notice The proof of `secret` for `alpha`, the same every time.
    function prove(uint256 secret, uint256 alpha) internal returns (VRF.Proof memory proof) {
        return _prove(Secrets(secret, uint256(keccak256(abi.encode(secret, alpha))) % Curve.N, alpha));
    }

    /// @notice H(3 || gamma)
    function output(VRF.Proof memory proof) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(3, proof.gamma)));
    }

    /// @notice The first x with a point among H(1 || Y || alpha), H(x), ..., and its even y.
    function hashToCurve(uint256[2] memory key, uint256 alpha) internal view returns (Point memory) {
        uint256 x = uint256(keccak256(abi.encode(1, key, alpha)));
        while (true) {
            if (x < Curve.P) {
                (bool exists, uint256 y) = Curve.evenY(x);
                if (exists) return Point(x, y);
            }
            x = uint256(keccak256(abi.encode(x)));
        }
        revert("unreachable");
    }

    /// @dev gamma = xH, c = H(2 || H || Y || gamma || kH || address(kG)), s = k - cx mod n; the products c gamma and
    /// sH, which VRF.sol checks instead of computing, are multiples of H as well.
    function _prove(Secrets memory secrets) private returns (VRF.Proof memory proof) {
        proof.seed = secrets.alpha;
        proof.pk = _pair(Curve.base(secrets.x));
        Point memory hash = hashToCurve(proof.pk, secrets.alpha);
        Point[2] memory products = Curve.multiples(hash, [secrets.x, secrets.k]);
        proof.gamma = _pair(products[0]);
        Point memory u = Curve.base(secrets.k);
        proof.uWitness = address(uint160(uint256(keccak256(abi.encode(u)))));
        proof.c = uint256(
            keccak256(
                abi.encodePacked(uint256(2), hash.x, hash.y, proof.pk, proof.gamma, _pair(products[1]), proof.uWitness)
            )
        );
        uint256 cx = mulmod(proof.c, secrets.x, Curve.N);
        proof.s = addmod(secrets.k, Curve.N - cx, Curve.N);
        products = Curve.multiples(hash, [cx, proof.s]);
        proof.cGammaWitness = _pair(products[0]);
        proof.sHashWitness = _pair(products[1]);
        // projectiveECAdd returns z = (x2 - x1)^5.
        uint256 difference = addmod(products[1].x, Curve.P - products[0].x, Curve.P);
        proof.zInv = Curve.power(Curve.power(difference, 5, Curve.P), Curve.P - 2, Curve.P);
    }

    function _pair(Point memory point) private pure returns (uint256[2] memory) {
        return [point.x, point.y];
    }
}
