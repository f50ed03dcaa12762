// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice Which functions of which contract make up a history.
struct FuzzSelector {
    address addr;
    bytes4[] selectors;
}

/// @notice Draws histories from the actions of one contract; each action takes a number.
abstract contract Invariants {
    address private _histories;
    bytes4[] private _actions;

    /// @notice Read by Forge.
    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = _histories;
    }

    /// @notice Read by Forge.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(_histories, _actions);
    }

    function explore(address histories, bytes4[] memory actions) internal {
        (_histories, _actions) = (histories, actions);
    }

    /// @dev A history of `steps` actions, the same every time.
    function play(uint256 steps) internal {
        for (uint256 step = 0; step < steps; ++step) {
            uint256 number = uint256(keccak256(abi.encode(step)));
            bytes memory data = abi.encodeWithSelector(_actions[number % _actions.length], number >> 8);
            (bool done, bytes memory reason) = _histories.call(data);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(reason, 0x20), mload(reason))
                }
            }
        }
    }
}
