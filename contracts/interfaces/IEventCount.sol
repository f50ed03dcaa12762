// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title How many events a contract has emitted
interface IEventCount {
    /// @notice Events that the contract has emitted. A node that lists another number of them has left some out.
    function eventCount() external view returns (uint64);
}
