// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Action, IQuorum, Roster} from "./IQuorum.sol";

/// @title The committee as another chain sees it
/// @notice Starts from a roster given at deployment and follows the home chain from epoch to
/// epoch by the outgoing committee's certificate.
interface IQuorumMirror is IQuorum {
    /// @notice Epochs follow one another without a gap.
    error EpochNotNext(uint64 given, uint64 expected);

    /// @notice Starts `epoch` with the roster `next`, certified by the epoch before.
    /// @dev Digest of the action: `keccak256(abi.encode(epoch, next))`. Emits EpochStarted.
    /// Reverts with EpochNotNext, InvalidRoster, and what ICertified and requireQuorum revert with.
    function advance(uint64 epoch, Roster calldata next, Action calldata action) external;
}
