// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {EpochRosters} from "./base/EpochRosters.sol";
import {IAppointedCommittee} from "./interfaces/IAppointedCommittee.sol";
import {Roster} from "./interfaces/IQuorum.sol";

/// @title The committee on its home chain, with rosters set by its appointer
contract AppointedCommittee is IAppointedCommittee, EpochRosters {
    /// @inheritdoc IAppointedCommittee
    address public immutable override appointer;

    /// @dev A committee with the zero address as appointer never starts an epoch.
    // slither-disable-next-line missing-zero-check
    constructor(address appointer_) EpochRosters(block.chainid, address(this)) {
        appointer = appointer_;
    }

    /// @inheritdoc IAppointedCommittee
    function appoint(Roster calldata next) external override returns (uint64 epoch) {
        if (msg.sender != appointer) revert NotAppointer(msg.sender, appointer);
        epoch = currentEpoch() + 1;
        _startEpoch(epoch, next);
    }
}
