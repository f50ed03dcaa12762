// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Equivocation} from "../../../contracts/interfaces/ICommittee.sol";
import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes, Reward} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {EXECUTOR, Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice Two votes on one proposal: what they cost, whom they pay, and what becomes of the committee.
contract SlashingTest is FiveCandidates {
    address private constant REPORTER = address(0x4E90);
    Members private _members;
    Candidate[] private _serving;

    /// @notice The five in epoch 1.
    function setUp() public override {
        super.setUp();
        Candidate[] memory serving;
        (_members, serving) = serve(five, "first");
        for (uint256 i = 0; i < serving.length; ++i) {
            _serving.push(serving[i]);
        }
    }

    function test_two_votes_on_one_proposal_cost_the_stake_and_the_place() external {
        Candidate memory cheater = _serving[1];
        VM.expectEmit(address(book));
        emit IStakes.Slashed(cheater.account, REPORTER, 1.8 ether, 0.2 ether);
        VM.expectEmit(address(book));
        emit IStakes.Burnt(cheater.account, 1.8 ether);
        _slash(1, REPORTER);
        VM.assertEq(book.burnt(), 1.8 ether);
        VM.assertEq(book.totalStake(), 8 ether);
        VM.assertEq(book.totalRewards(), 0.2 ether);
        bytes memory excluded = abi.encodeWithSelector(IStakes.Excluded.selector, cheater.account);
        VM.expectRevert(excluded);
        book.slash(_evidence(1));
        VM.deal(cheater.account, 1 ether);
        expectRefusal(cheater, excluded);
        book.deposit{value: 1 ether}();
        pause(1000);
        book.openElection();
        expectRefusal(cheater, excluded);
        book.commit("content");
        solvent();
    }

    function test_unbonding_does_not_save_the_stake() external {
        VM.prank(_serving[0].account);
        book.unbond();
        book.slash(_evidence(0));
        pause(20_000);
        VM.assertEq(book.candidate(_serving[0].account).stake, 0);
    }

    /// @notice Finding: the reward was paid at once.
    function test_a_reward_waits_for_the_unbonding_delay_and_is_paid_once() external {
        _slash(0, REPORTER);
        uint256 at = block.timestamp + 10_000;
        Reward memory reward = book.rewards(REPORTER);
        VM.assertEq(reward.amount, 0.2 ether);
        VM.assertEq(reward.claimable, at);
        pause(9999);
        VM.prank(REPORTER);
        VM.expectRevert(abi.encodeWithSelector(IStakes.TooEarly.selector, at - 1, at));
        book.claim();
        pause(1);
        VM.expectEmit(address(book));
        emit IStakes.Claimed(REPORTER, 0.2 ether);
        VM.prank(REPORTER);
        book.claim();
        VM.assertEq(REPORTER.balance, 0.2 ether);
        VM.prank(REPORTER);
        VM.expectRevert(abi.encodeWithSelector(IStakes.NothingToPay.selector, REPORTER));
        book.claim();
        solvent();
    }

    /// @notice Finding: a member that reported itself under another name kept a good part of its stake, and its seat.
    function test_reporting_oneself_saves_a_tenth_at_most_and_loses_the_rest() external {
        Candidate memory offender = _serving[2];
        address disguise = address(0xD15);
        uint256 before = book.candidate(offender.account).stake;
        _slash(2, disguise);
        pause(10_000);
        VM.prank(disguise);
        book.claim();
        VM.assertLe(10 * disguise.balance, before);
        VM.assertEq(book.candidate(offender.account).stake, 0);
        VM.assertEq(book.excluded(), 4);
    }

    /// @notice Finding: a slashed member went on voting. The quorum stays three of four.
    function test_votes_of_a_slashed_member_do_not_count() external {
        book.requireQuorum(_members.certificate(bookDomain, block.chainid, address(this), 1, "proposal", "content", 7));
        _slash(1, REPORTER);
        VM.assertEq(book.excluded(), 2);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.requireQuorum(_members.certificate(bookDomain, block.chainid, address(this), 1, "proposal", "content", 7));
        book.requireQuorum(_members.certificate(bookDomain, block.chainid, address(this), 1, "proposal", "content", 13));
        book.report(_members.certificate(bookDomain, 1, "proposal", "content", 15), block.chainid, EXECUTOR);
        VM.assertEq(book.credited(1, "proposal"), 13);
        _slash(0, REPORTER);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.requireQuorum(_members.certificate(bookDomain, block.chainid, address(this), 1, "proposal", "content", 15));
    }

    function test_a_member_slashed_for_an_earlier_epoch_is_out_of_the_present_one() external {
        Candidate[] memory before = _serving;
        (Members memory second, Candidate[] memory serving) = serve(five, "second");
        uint256 index = 0;
        while (placeOf(serving, before[index]) == serving.length) ++index;
        uint256 place = placeOf(serving, before[index]);
        _slash(index, REPORTER);
        VM.assertEq(book.excluded(), 1 << place);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.requireQuorum(
            second.certificate(bookDomain, block.chainid, address(this), 2, "proposal", "content", _three(place))
        );
    }

    function test_the_next_committee_begins_whole() external {
        _slash(1, REPORTER);
        (Members memory second,) = serve(without(five, _serving[1]), "second");
        VM.assertEq(book.excluded(), 0);
        book.requireQuorum(second.certificate(bookDomain, block.chainid, address(this), 2, "proposal", "content", 7));
    }

    /// @notice Finding: slashing an elected member voided the draw, for half a stake.
    function test_an_elected_member_that_is_slashed_does_not_void_the_draw() external {
        Candidate[] memory before = _serving;
        Candidate[] memory next = elect(five);
        uint256 index = 0;
        while (placeOf(next, before[index]) == next.length) ++index;
        Candidate memory slashed = before[index];
        uint256 place = placeOf(next, slashed);
        confirm(slashed, 7, 3);
        _slash(index, REPORTER);
        inPhase(Phase.Confirm);
        Candidate[] memory rest = without(next, slashed);
        confirm(slice(rest, 0, 2), 7, 3);
        inPhase(Phase.Confirm);
        confirm(rest[2], 7, 3);
        VM.assertEq(book.currentEpoch(), 2);
        VM.assertEq(book.excluded(), 1 << place);
        Members memory second = membersOf(next, "second");
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.requireQuorum(
            second.certificate(bookDomain, block.chainid, address(this), 2, "proposal", "content", _three(place))
        );
        book.requireQuorum(second.certificate(bookDomain, block.chainid, address(this), 2, "proposal", "content", 15));
    }

    function test_a_slashed_member_confirms_nothing_any_more() external {
        Candidate[] memory before = _serving;
        Candidate[] memory next = elect(five);
        uint256 index = 0;
        while (placeOf(next, before[index]) == next.length) ++index;
        _slash(index, REPORTER);
        expectRefusal(before[index], abi.encodeWithSelector(IElection.WrongStage.selector, before[index].account, 2));
        book.confirmKey(1, 2, 3);
    }

    /// @notice Voiding it takes as many stakes as a quorum can spare, and one more.
    function test_an_election_is_void_once_fewer_than_a_quorum_of_the_elected_are_left() external {
        Candidate[] memory before = _serving;
        Candidate[] memory next = elect(five);
        uint256 slashed = 0;
        for (uint256 i = 0; i < 4 && slashed < 2; ++i) {
            if (placeOf(next, before[i]) == next.length) continue;
            _slash(i, REPORTER);
            if (++slashed == 1) {
                VM.expectPartialRevert(IStakes.TooEarly.selector);
                book.proceed();
            }
        }
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(2, 2, "too few of the elected are left");
        book.proceed();
        inPhase(Phase.Idle);
        VM.assertEq(book.currentEpoch(), 1);
    }

    function test_a_slashed_candidate_is_passed_over() external {
        draw(five);
        prove(five);
        book.slash(_evidence(0));
        book.proceed();
        Candidate[] memory next = elected();
        VM.assertEq(placeOf(next, _serving[0]), next.length);
    }

    /// @dev Three of four, with the member at `place`.
    function _three(uint256 place) private pure returns (uint256) {
        return place == 0 ? 7 : 15 - (place == 1 ? 8 : 2);
    }

    function _slash(uint256 index, address reporter) private {
        Equivocation memory evidence = _evidence(index);
        VM.prank(reporter);
        book.slash(evidence);
    }

    function _evidence(uint256 index) private view returns (Equivocation memory) {
        return equivocation(_members, bookDomain, 1, index);
    }
}
