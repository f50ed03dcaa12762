// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Number of events that a contract has emitted
interface IEventCount {
    /// @notice Events that the contract has emitted. A node that lists a different number has left some out.
    function eventCount() external view returns (uint64);
}
