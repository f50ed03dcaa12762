// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {CommitteeHistories} from "./support/CommitteeHistories.sol";
import {Invariants} from "./support/Invariants.sol";
import {VM} from "./support/Vm.sol";

/// @notice Random histories of the elected committee and a mirror: stake, epochs, who may serve, whose votes count.
contract CommitteeInvariants is Invariants {
    CommitteeHistories private _committee;

    function setUp() external {
        _committee = new CommitteeHistories();
        bytes4[] memory actions = new bytes4[](15);
        actions[0] = CommitteeHistories.deposit.selector;
        actions[1] = CommitteeHistories.unbond.selector;
        actions[2] = CommitteeHistories.leave.selector;
        actions[3] = CommitteeHistories.claim.selector;
        actions[4] = CommitteeHistories.proceed.selector;
        actions[5] = CommitteeHistories.openAndCommit.selector;
        actions[6] = CommitteeHistories.revealMost.selector;
        actions[7] = CommitteeHistories.proveMost.selector;
        actions[8] = CommitteeHistories.confirmMost.selector;
        actions[9] = CommitteeHistories.reportVotes.selector;
        actions[10] = CommitteeHistories.convict.selector;
        actions[11] = CommitteeHistories.elect.selector;
        actions[12] = CommitteeHistories.follow.selector;
        actions[13] = CommitteeHistories.acknowledge.selector;
        actions[14] = CommitteeHistories.retire.selector;
        explore(address(_committee), actions);
    }

    function invariant_stake_is_conserved_and_the_fit_serve() external {
        _committee.check();
    }

    function test_histories_are_not_tame() external {
        play(400);
        _committee.check();
        bytes32[17] memory outcomes = [
            bytes32("deposit"),
            "unbond",
            "withdraw",
            "claim",
            "open",
            "commit",
            "reveal",
            "prove",
            "confirm",
            "proceed",
            "report",
            "slash",
            "epoch",
            "follow",
            "acknowledge",
            "retire",
            "refused"
        ];
        for (uint256 i = 0; i < outcomes.length; ++i) {
            VM.assertGe(_committee.seen(outcomes[i]), 1, string(bytes.concat(outcomes[i])));
        }
    }
}
