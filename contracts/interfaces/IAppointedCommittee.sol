// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IQuorum, Roster} from "./IQuorum.sol";

/// @title The committee on its home chain, with rosters set by its appointer
/// @notice One account appoints the members, threshold and group key of each epoch. This contract has no stake, trust
/// or sortition.
interface IAppointedCommittee is IQuorum {
    /// @notice The caller is not the appointer, who alone may start an epoch.
    error NotAppointer(address caller, address appointer);

    /// @notice The account that appoints rosters.
    function appointer() external view returns (address);

    /// @notice Starts the next epoch with the roster `next`.
    /// @dev Emits EpochStarted. Reverts with NotAppointer or InvalidRoster.
    function appoint(Roster calldata next) external returns (uint64 epoch);
}
