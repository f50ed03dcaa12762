// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice Acts on a contract, and when it is paid enters it again, refuses, or burns all gas.
contract Greedy {
    address private immutable _target;
    bytes private _again;
    uint256 public entered;
    bool public reenteredSuccessfully;
    bool public refusing;
    bool public burning;

    constructor(address target) payable {
        _target = target;
    }

    receive() external payable {
        require(!refusing, "no, thank you");
        if (burning) {
            assembly ("memory-safe") {
                invalid()
            }
        }
        ++entered;
        if (_again.length != 0) {
            // slither-disable-next-line low-level-calls
            (bool done,) = _target.call(_again);
            reenteredSuccessfully = reenteredSuccessfully || done;
        }
    }

    function refuse(bool value) external {
        refusing = value;
    }

    function burn(bool value) external {
        burning = value;
    }

    function act(bytes calldata data, uint256 value, bytes calldata again) external {
        _again = again;
        // slither-disable-next-line low-level-calls
        (bool done, bytes memory reason) = _target.call{value: value}(data);
        if (!done) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
    }
}

/// @notice Forces ether into a contract.
contract Forcer {
    constructor(address payable target) payable {
        selfdestruct(target);
    }
}
