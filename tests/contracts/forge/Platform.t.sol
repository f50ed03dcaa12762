// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Harness} from "../solidity/Harness.sol";
import {Curve, Point} from "./support/Curve.sol";
import {VM} from "./support/Vm.sol";

/// @notice What the chameleon hash relies on: the ecrecover precompile at its edges (EIP-155, Yellow Paper E).
contract PlatformTest {
    uint256 private constant N = Curve.N;
    bytes32 private constant DIGEST = keccak256("platform");
    uint256 private constant SECRET = uint256(keccak256("secret")) % N;
    Harness private _harness;
    uint256 private _v;
    uint256 private _r;
    uint256 private _s;

    function setUp() external {
        _harness = Harness(VM.deployCode("Harness.sol"));
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(SECRET, DIGEST);
        (_v, _r, _s) = (v, uint256(r), uint256(s));
    }

    function testFuzz_recovers_the_signer(uint256 secret, bytes32 digest) external pure {
        secret = secret % (N - 1) + 1;
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(secret, digest);
        VM.assertEq(ecrecover(digest, v, r, s), VM.addr(secret));
    }

    function test_accepts_high_s() external view {
        VM.assertEq(ecrecover(DIGEST, uint8(55 - _v), bytes32(_r), bytes32(N - _s)), VM.addr(SECRET));
    }

    function test_returns_no_bytes() external view {
        VM.assertEq(_harness.recoveredBytes(DIGEST, _v, bytes32(_r), bytes32(_s)), 32);
        _nothing("r is 0", 0, _s, _v);
        _nothing("r is n", N, _s, _v);
        _nothing("s is 0", _r, 0, _v);
        _nothing("s is n", _r, N, _v);
        _nothing("s is above n", _r, type(uint256).max, _v);
        _nothing("v is 26", _r, _s, 26);
        _nothing("v is 29", _r, _s, 29);
        _nothing("v is 0", _r, _s, 0);
        _nothing("v has high bits", _r, _s, _v + 2 ** 128);
        _nothing("r is no x of the curve", 5, _s, _v);
    }

    /// @notice ecrecover(e, 27, R.x, t) takes the R whose y is even: with e = 0, t = R.x it returns address(R).
    function testFuzz_v_names_the_parity_of_y(uint256 secret) external {
        secret = secret % (N - 1) + 1;
        Point memory point = Curve.base(secret);
        uint256 even = point.y % 2 == 0 ? point.y : Curve.P - point.y;
        address expected = address(uint160(uint256(keccak256(abi.encode(point.x, even)))));
        VM.assertEq(ecrecover(0, 27, bytes32(point.x), bytes32(point.x)), expected);
    }

    function test_a_digest_of_zero_is_no_edge() external {
        VM.assertTrue(ecrecover(0, 27, bytes32(Curve.base(1).x), bytes32(uint256(1))) != address(0));
    }

    function testFuzz_points_of_the_curve(uint256 secret) external {
        _isPoint(secret % (N - 1) + 1);
    }

    function test_edges_of_the_curve() external {
        uint256[4] memory secrets = [uint256(1), 2, 3, N - 1];
        for (uint256 i = 0; i < secrets.length; ++i) {
            _isPoint(secrets[i]);
        }
        VM.assertFalse(_harness.isOnCurve(0, 0));
        VM.assertFalse(_harness.isOnCurve(1, Curve.P));
        // 8^(1/2) mod p is a y of x = 1; x = 1 + p is the same residue, out of range.
        (bool exists, uint256 y) = Curve.evenY(1);
        VM.assertTrue(exists);
        VM.assertTrue(_harness.isOnCurve(1, y));
        VM.assertFalse(_harness.isOnCurve(1 + Curve.P, y));
    }

    function _isPoint(uint256 secret) private {
        Point memory point = Curve.base(secret);
        VM.assertTrue(_harness.isOnCurve(point.x, point.y));
        VM.assertFalse(_harness.isOnCurve(point.x, point.y + 1));
        VM.assertFalse(_harness.isOnCurve(point.x + 1, point.y));
    }

    function _nothing(string memory why, uint256 r, uint256 s, uint256 v) private view {
        VM.assertEq(_harness.recoveredBytes(DIGEST, v, bytes32(r), bytes32(s)), 0, why);
    }
}
