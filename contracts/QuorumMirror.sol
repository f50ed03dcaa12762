// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certified} from "./base/Certified.sol";
import {EpochRosters} from "./base/EpochRosters.sol";
import {Action, IQuorum, Roster} from "./interfaces/IQuorum.sol";
import {IQuorumMirror} from "./interfaces/IQuorumMirror.sol";

/// @title The committee on another chain than its home chain
contract QuorumMirror is IQuorumMirror, EpochRosters, Certified {
    /// @param homeChainId Chain of the mirrored committee.
    /// @param homeCommittee Its address there.
    /// @param epoch Its current epoch, at least 1.
    constructor(uint256 homeChainId, address homeCommittee, uint64 epoch, Roster memory first)
        EpochRosters(homeChainId, homeCommittee)
        Certified(IQuorum(address(this)))
    {
        if (epoch == 0) revert EpochNotNext(0, 1);
        _startEpoch(epoch, first);
        _logged(1);
    }

    /// @inheritdoc IQuorumMirror
    function advance(uint64 epoch, Roster calldata next, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.advance, (epoch, next, action)));
        _execute(action, keccak256(abi.encode(epoch, next)));
        if (epoch != currentEpoch() + 1) revert EpochNotNext(epoch, currentEpoch() + 1);
        _startEpoch(epoch, next);
        _logged(1);
    }
}
