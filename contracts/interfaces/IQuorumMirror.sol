// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Action, IQuorum, Roster} from "./IQuorum.sol";

/// @title The committee on another chain than its home chain
/// @notice Starts from a roster given at deployment and follows the home chain from epoch to epoch by the outgoing
/// committee's certificate.
interface IQuorumMirror is IQuorum {
    /// @notice The epoch does not follow the current one.
    error EpochNotNext(uint64 given, uint64 expected);

    /// @notice Starts `epoch` with the roster `next`, certified by the previous epoch.
    /// @dev Digest of the action: `keccak256(abi.encode(epoch, next))`. Emits EpochStarted.
    /// Reverts with EpochNotNext, InvalidRoster, and the errors of ICertified and requireQuorum.
    function advance(uint64 epoch, Roster calldata next, Action calldata action) external;
}
