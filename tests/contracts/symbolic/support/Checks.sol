// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../../contracts/interfaces/ICertified.sol";
import {Action} from "../../../../contracts/interfaces/IQuorum.sol";
import {Curve} from "../../forge/support/Curve.sol";
import {VM} from "../../forge/support/Vm.sol";
import {AnyQuorum} from "./AnyQuorum.sol";
import {SVM} from "./Deploy.sol";

/// @notice Calls from any account.
abstract contract Checks {
    /// @notice Whether the call goes through; one that does not changes nothing.
    function passes(address caller, address target, bytes memory call) internal returns (bool passed) {
        VM.prank(caller);
        (passed,) = target.call(call);
    }

    /// @notice The same for a call that pays.
    function passes(address caller, address target, uint256 value, bytes memory call) internal returns (bool passed) {
        VM.deal(caller, value);
        VM.prank(caller);
        (passed,) = target.call{value: value}(call);
    }

    /// @notice Whether the key X = (x, y) has signed: nonce = address(sG - eX), by ecrecover (Schnorr.sol derives it).
    function signed(uint256 x, uint256 y, bytes32 digest, address nonce, uint256 s) internal pure returns (bool) {
        bytes32 tag = keccak256("BlockFUL/certificate/v1/challenge");
        uint256 e = uint256(keccak256(abi.encode(tag, x, y, nonce, digest)));
        unchecked {
            bytes32 sx = bytes32(Curve.N - mulmod(s, x, Curve.N));
            bytes32 ex = bytes32(Curve.N - mulmod(e, x, Curve.N));
            return ecrecover(sx, 27 + uint8(y & 1), bytes32(x), ex) == nonce;
        }
    }

    /// @notice Whether two ABI encodings are equal.
    function same(bytes memory a, bytes memory b) internal pure returns (bool) {
        return keccak256(a) == keccak256(b);
    }
}

/// @notice Of a contract that runs chunks of proposals.
abstract contract CertifiedChecks is Checks {
    /// @notice Whether the certificate's content holds this call of `target`, as chunk `action.chunk`.
    function covers(address target, bytes4 selector, bytes32 digest, Action memory action)
        internal
        view
        returns (bool)
    {
        bytes32 node = keccak256(abi.encode(block.chainid, target, selector, action.chunk, action.chunks, digest));
        node = keccak256(bytes.concat(node));
        for (uint256 i = 0; i < action.path.length; ++i) {
            bytes32 other = action.path[i];
            node = keccak256(node < other ? abi.encode(node, other) : abi.encode(other, node));
        }
        return node == action.certificate.contentHash;
    }

    /// @notice Chunks of a proposal that `target` has done.
    function done(address target, bytes32 proposal) internal view returns (uint32 number) {
        (number,) = ICertified(target).progress(proposal);
    }
}

/// @notice Of a contract that asks a committee.
abstract contract CommitteeChecks is CertifiedChecks {
    AnyQuorum internal quorum = new AnyQuorum();

    constructor() {
        SVM.enableSymbolicStorage(address(quorum));
    }

    /// @notice Whether a quorum has signed this certificate for `target`.
    function holds(address target, Action memory action) internal view returns (bool) {
        return quorum.held() == keccak256(abi.encode(target, action.certificate));
    }
}
