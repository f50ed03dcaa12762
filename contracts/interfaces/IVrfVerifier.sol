// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @title Checks VRF proofs; has neither state nor owner
interface IVrfVerifier {
    /// @notice The output keccak256(abi.encode(3, gamma)) of a proof for the input `alpha`.
    /// @dev Ignores the proof's own seed. Reverts with the reasons of VRF.sol.
    function output(VRF.Proof calldata proof, uint256 alpha) external view returns (uint256);
}
