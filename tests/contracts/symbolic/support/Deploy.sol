// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VM} from "../../forge/support/Vm.sol";

/// @notice Cheat codes of halmos.
interface Svm {
    function enableSymbolicStorage(address account) external;
    function createBytes32(string calldata name) external pure returns (bytes32);
    function createUint(uint256 bits, string calldata name) external pure returns (uint256);
    function createBytes(uint256 size, string calldata name) external pure returns (bytes memory);
}

Svm constant SVM = Svm(address(uint160(uint256(keccak256("svm cheat code")))));

/// @notice Deploys contracts as brownie compiles them.
library Deploy {
    /// @dev No contract has more variables.
    uint256 private constant SLOTS = 24;

    /// @notice The contract `name` at `place`, in any state: every slot may hold anything.
    /// @dev Its constructor runs as a call of the creation code, and leaves the immutables in the code. What it stored
    /// would stay, so each variable is forgotten.
    function inAnyState(address place, string memory name, bytes memory arguments) internal {
        string memory artifact = string.concat("build/forge/", name, ".sol/", name, ".json");
        VM.etch(place, bytes.concat(VM.getCode(artifact), arguments));
        (bool made, bytes memory code) = place.call("");
        require(made, "not deployed");
        VM.etch(place, code);
        SVM.enableSymbolicStorage(place);
        for (uint256 slot = 0; slot < SLOTS; ++slot) {
            VM.store(place, bytes32(slot), SVM.createBytes32("slot"));
        }
    }
}
