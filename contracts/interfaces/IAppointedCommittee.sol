// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IQuorum, Roster} from "./IQuorum.sol";

/// @title The committee on its home chain, with a roster that its appointer sets
/// @notice Members, threshold and group key of each epoch are appointed by one account.
/// Stake, trust and sortition are not part of this contract.
interface IAppointedCommittee is IQuorum {
    /// @notice Only the appointer may start an epoch.
    error NotAppointer(address caller, address appointer);

    /// @notice The account that appoints rosters.
    function appointer() external view returns (address);

    /// @notice Starts the next epoch with the roster `next`.
    /// @dev Emits EpochStarted. Reverts with NotAppointer or InvalidRoster.
    function appoint(Roster calldata next) external returns (uint64 epoch);
}
