// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IVrfVerifier} from "./interfaces/IVrfVerifier.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @title Chainlink's VRF library in a separate contract, because its code does not fit into the committee's contract
contract VrfVerifier is IVrfVerifier, VRF {
    /// @inheritdoc IVrfVerifier
    function output(Proof calldata proof, uint256 alpha) external view override returns (uint256) {
        return randomValueFromVRFProof(proof, alpha);
    }
}
