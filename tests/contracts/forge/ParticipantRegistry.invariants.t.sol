// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {Invariants} from "./support/Invariants.sol";
import {RequestHistories} from "./support/RequestHistories.sol";
import {VM} from "./support/Vm.sol";

/// @notice Random histories of requests and of the participants that file them and hand in parts.
contract ParticipantRegistryInvariants is Invariants {
    RequestHistories private _requests;

    function setUp() external {
        _requests = new RequestHistories();
        bytes4[] memory actions = new bytes4[](10);
        actions[0] = RequestHistories.fileSome.selector;
        actions[1] = RequestHistories.decideSome.selector;
        actions[2] = RequestHistories.decideBadly.selector;
        actions[3] = RequestHistories.handInSome.selector;
        actions[4] = RequestHistories.handInAll.selector;
        actions[5] = RequestHistories.come.selector;
        actions[6] = RequestHistories.go.selector;
        actions[7] = RequestHistories.bar.selector;
        actions[8] = RequestHistories.appendBlock.selector;
        actions[9] = RequestHistories.roll.selector;
        explore(address(_requests), actions);
    }

    function invariant_requests_are_decided_once_and_budgets_hold() external view {
        _requests.check();
    }

    /// @notice A history reaches every outcome; one that reaches none of them would prove nothing.
    function test_histories_are_not_tame() external {
        play(600);
        _requests.check();
        bytes32[22] memory outcomes = [
            bytes32("file"),
            "admit",
            "dismiss",
            "handIn",
            "reuse",
            "budget",
            "bar",
            "readmit",
            "roll",
            IParticipantRegistry.AllPlacesTaken.selector,
            IParticipantRegistry.AllSeatsTaken.selector,
            IParticipantRegistry.AlreadyJoined.selector,
            IParticipantRegistry.InvalidDuration.selector,
            IParticipantRegistry.NotJoined.selector,
            IParticipantRegistry.ParticipantIsBarred.selector,
            IParticipantRegistry.RequestClosed.selector,
            IParticipantRegistry.RequestNotAdmitted.selector,
            IParticipantRegistry.RequestNotWaiting.selector,
            IParticipantRegistry.TooManyHandIns.selector,
            IParticipantRegistry.UnknownCodec.selector,
            ICertified.NotCertified.selector,
            IQuorum.QuorumNotReached.selector
        ];
        for (uint256 i = 0; i < outcomes.length; ++i) {
            VM.assertGe(_requests.seen(outcomes[i]), 1, string(bytes.concat(outcomes[i])));
        }
    }
}
