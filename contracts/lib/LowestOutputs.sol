// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title The n lowest outputs of a list, in ascending order
library LowestOutputs {
    struct List {
        uint256[] outputs;
        address[] owners;
        uint256 length;
    }

    /// @notice An empty list for at most `capacity` entries.
    function create(uint256 capacity) internal pure returns (List memory list) {
        list.outputs = new uint256[](capacity);
        list.owners = new address[](capacity);
    }

    /// @notice Inserts an entry; a full list drops its largest. Among equal outputs, the first one offered stays.
    function offer(List memory list, uint256 output, address owner) internal pure {
        uint256 capacity = list.outputs.length;
        uint256 place = list.length;
        if (place == capacity) {
            if (list.outputs[capacity - 1] <= output) return;
            --place;
        } else {
            ++list.length;
        }
        for (; place > 0 && list.outputs[place - 1] > output; --place) {
            list.outputs[place] = list.outputs[place - 1];
            list.owners[place] = list.owners[place - 1];
        }
        list.outputs[place] = output;
        list.owners[place] = owner;
    }
}
