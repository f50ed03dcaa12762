// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {ILiveChain} from "../../../contracts/interfaces/ILiveChain.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {Invariants} from "./support/Invariants.sol";
import {LiveChainHistories} from "./support/LiveChainHistories.sol";
import {VM} from "./support/Vm.sol";

/// @notice Random histories of the live chain under committees that replace one another.
contract LiveChainInvariants is Invariants {
    LiveChainHistories private _live;

    function setUp() external {
        _live = new LiveChainHistories();
        bytes4[] memory actions = new bytes4[](8);
        actions[0] = LiveChainHistories.appendBlock.selector;
        actions[1] = LiveChainHistories.appendBadly.selector;
        actions[2] = LiveChainHistories.redactModels.selector;
        actions[3] = LiveChainHistories.redactBadly.selector;
        actions[4] = LiveChainHistories.restore.selector;
        actions[5] = LiveChainHistories.decideInChunks.selector;
        actions[6] = LiveChainHistories.goOn.selector;
        actions[7] = LiveChainHistories.appoint.selector;
        explore(address(_live), actions);
    }

    function invariant_the_record_holds() external {
        _live.check();
    }

    /// @notice A history reaches every outcome; one that reaches none of them would prove nothing.
    function test_histories_are_not_tame() external {
        play(200);
        _live.check();
        bytes32[14] memory outcomes = [
            bytes32("append"),
            "redact",
            "chunk",
            "epoch",
            ILiveChain.UnknownReference.selector,
            ILiveChain.ParentMismatch.selector,
            ILiveChain.InvalidOpening.selector,
            ILiveChain.VersionNotNext.selector,
            ILiveChain.UnknownCodec.selector,
            ILiveChain.PositionsNotAscending.selector,
            ICertified.NotCertified.selector,
            ICertified.ChunkOutOfOrder.selector,
            IQuorum.QuorumNotReached.selector,
            IQuorum.StaleEpoch.selector
        ];
        for (uint256 i = 0; i < outcomes.length; ++i) {
            VM.assertGe(_live.seen(outcomes[i]), 1);
        }
    }
}
