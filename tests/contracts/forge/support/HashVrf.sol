// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IVrfVerifier} from "../../../../contracts/interfaces/IVrfVerifier.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice A hash in place of a verifiable random function, for long histories of elections that are about all else.
contract HashVrf is IVrfVerifier {
    /// @notice The output keccak256(abi.encode(pk, alpha)); a proof is good when its gamma holds it.
    function output(VRF.Proof calldata proof, uint256 alpha) external pure override returns (uint256 expected) {
        expected = uint256(keccak256(abi.encode(proof.pk, alpha)));
        require(proof.gamma[0] == expected, "not a proof");
    }

    /// @notice The proof of `secret` for `alpha`.
    function prove(uint256 secret, uint256 alpha) external pure returns (VRF.Proof memory proof) {
        proof.pk = [secret, secret];
        proof.gamma[0] = uint256(keccak256(abi.encode(proof.pk, alpha)));
    }
}
