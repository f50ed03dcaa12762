// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes, Parameters} from "../../../contracts/interfaces/IStakes.sol";
import {Curve, Point} from "./support/Curve.sol";
import {Candidate, FiveCandidates, Rules} from "./support/Elections.sol";
import {VM} from "./support/Vm.sol";

/// @notice The elected confirm the key that they generated; when they disagree, nobody waits for what cannot come.
contract ConfirmationTest is FiveCandidates {
    function test_members_must_agree_on_key_and_threshold() external {
        Candidate[] memory serving = elect(five);
        uint256 out = 0;
        while (placeOf(serving, five[out]) < 4) ++out;
        Point memory key = Curve.base(7);
        expectRefusal(five[out], abi.encodeWithSelector(IElection.WrongStage.selector, five[out].account, 1));
        book.confirmKey(key.x, key.y, 3);
        for (uint32 threshold = 1; threshold < 5; threshold += 3) {
            expectRefusal(serving[0], abi.encodeWithSelector(IElection.ThresholdOutOfRange.selector, threshold, 2, 3));
            book.confirmKey(key.x, key.y, threshold);
        }
        confirm(slice(serving, 0, 2), 7, 3);
        expectRefusal(serving[0], abi.encodeWithSelector(IElection.AlreadyConfirmed.selector, serving[0].account, 1));
        book.confirmKey(key.x, key.y, 3);
        confirm(serving[2], 8, 3);
        confirm(serving[3], 7, 2);
        inPhase(Phase.Confirm);
        pause(PERIOD);
        _expectWithheld(serving[2]);
        _expectWithheld(serving[3]);
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(1, 1, "too few of the elected are left");
        book.proceed();
        trusts(serving[0], 500_000);
        trusts(serving[1], 500_000);
    }

    function test_key_generation_starts_again_when_nobody_can_be_blamed() external {
        Candidate[] memory serving = elect(five);
        confirm(serving[0], 7, 3);
        confirm(serving[1], 8, 3);
        expire();
        _generatesAgain(serving);
        confirm(slice(serving, 0, 3), 7, 3);
        VM.assertEq(book.currentEpoch(), 1);
    }

    function test_an_election_is_void_after_the_last_key_generation() external {
        elect(five);
        expire();
        pause(PERIOD);
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(1, 1, "no key was confirmed");
        book.proceed();
        inPhase(Phase.Idle);
        VM.assertEq(book.currentEpoch(), 0);
    }

    function test_a_key_that_is_no_point_is_refused_at_once() external {
        Candidate[] memory serving = elect(five);
        Point[4] memory none = [Point(1, 1), Point(0, 0), Point(Curve.P, 1), Point(7, Curve.P)];
        for (uint256 i = 0; i < 4; ++i) {
            expectRefusal(
                serving[0], abi.encodeWithSelector(IQuorum.InvalidRoster.selector, "group key is not on secp256k1")
            );
            book.confirmKey(none[i].x, none[i].y, 3);
        }
        confirm(serving[0], 1, 3);
        inPhase(Phase.Confirm);
    }

    function test_a_generation_that_no_key_can_win_any_more_ends_before_its_time() external {
        Candidate[] memory serving = elect(five);
        confirm(serving[0], 7, 3);
        confirm(serving[1], 8, 3);
        VM.expectPartialRevert(IStakes.TooEarly.selector);
        book.proceed();
        confirm(serving[2], 9, 3);
        book.proceed();
        _generatesAgain(serving);
        confirm(slice(serving, 0, 3), 7, 3);
        VM.assertEq(book.currentEpoch(), 1);
    }

    /// @notice Whoever leads a key generation may have members settle on two keys; among f + 1 one is honest.
    function test_two_keys_that_honest_members_confirmed_cost_nobody_anything() external {
        Candidate[] memory serving = elect(five);
        confirm(slice(serving, 0, 2), 7, 3);
        confirm(slice(serving, 2, 4), 8, 3);
        book.proceed();
        _generatesAgain(serving);
    }

    function test_before_its_time_who_was_silent_is_not_to_blame() external {
        Candidate[] memory six = _six();
        confirm(slice(six, 0, 2), 7, 3);
        confirm(six[2], 8, 3);
        confirm(six[3], 9, 3);
        VM.expectPartialRevert(IStakes.TooEarly.selector);
        book.proceed();
        confirm(six[4], 10, 3);
        for (uint256 i = 2; i < 5; ++i) {
            _expectWithheld(six[i]);
        }
        book.proceed();
        trusts(six[5], 500_000);
        VM.assertEq(book.burnt(), 0.75 ether);
    }

    function test_in_its_time_who_was_silent_is_to_blame() external {
        Candidate[] memory six = _six();
        confirm(slice(six, 0, 2), 7, 3);
        pause(PERIOD);
        for (uint256 i = 2; i < 6; ++i) {
            _expectWithheld(six[i]);
        }
        book.proceed();
        VM.assertEq(book.burnt(), 1 ether);
    }

    /// @dev All of six candidates are elected; four make a quorum, and two are one more than may be faulty.
    function _six() private returns (Candidate[] memory serving) {
        Parameters memory rules = Rules.standard();
        rules.seats = 6;
        found(rules);
        serving = elect(joined(6));
        VM.assertEq(serving.length, 6);
    }

    function _generatesAgain(Candidate[] memory serving) private view {
        inPhase(Phase.Confirm);
        VM.assertEq(book.election().attempt, 2);
        for (uint256 i = 0; i < serving.length; ++i) {
            trusts(serving[i], 500_000);
        }
    }

    function _expectWithheld(Candidate memory candidate) private {
        VM.expectEmit(address(book));
        emit IElection.Withheld(1, candidate.account, Phase.Confirm);
    }
}
