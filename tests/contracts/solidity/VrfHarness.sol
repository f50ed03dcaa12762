// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Opens the library that verifies VRF proofs to tests.
contract VrfHarness is VRF {
    function randomValue(Proof calldata proof, uint256 alpha) public view returns (uint256) {
        return randomValueFromVRFProof(proof, alpha);
    }

    function randomValues(Proof[] calldata proofs, uint256[] calldata alphas)
        external
        view
        returns (uint256[] memory values)
    {
        values = new uint256[](proofs.length);
        for (uint256 i = 0; i < proofs.length; ++i) {
            values[i] = randomValue(proofs[i], alphas[i]);
        }
    }

    /// @return spent Gas of the verification alone.
    function gasOfProof(Proof calldata proof, uint256 alpha) external view returns (uint256 spent) {
        spent = gasleft();
        randomValue(proof, alpha);
        spent -= gasleft();
    }

    function hashed(uint256[2] calldata key, uint256 alpha) external view returns (uint256[2] memory) {
        return hashToCurve(key, alpha);
    }
}
