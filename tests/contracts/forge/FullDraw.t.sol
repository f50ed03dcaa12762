// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {Parameters} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, Elections, Rules} from "./support/Elections.sol";
import {Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice A full draw prefers stake times trust: minimum stakes cannot lock out who has staked more.
contract FullDrawTest is Elections {
    Candidate[] private _five;

    /// @notice A draw for three candidates that three of five have entered, with 2 ether each.
    function setUp() external {
        _small();
        Candidate[] memory all = joined(5);
        for (uint256 i = 0; i < 5; ++i) {
            _five.push(all[i]);
        }
        book.openElection();
        commit(slice(all, 0, 3));
    }

    function test_an_equal_weight_displaces_nobody() external {
        _isFullFor(3);
    }

    function test_a_higher_stake_takes_the_place_of_the_least() external {
        _raise(0, 5);
        _raise(2, 5);
        _raise(3, 1);
        bytes32 content = commitment(_five[3]);
        VM.expectEmit(address(book));
        emit IElection.Displaced(1, _five[1].account, _five[3].account);
        VM.prank(_five[3].account);
        book.commit(content);
        _entrants(_five, 0, 3, 2);
        VM.assertEq(book.election().committed, 3);
    }

    function test_of_equals_the_latest_gives_way() external {
        _raise(4, 1);
        commit(_five[4]);
        _entrants(_five, 0, 1, 4);
    }

    /// @notice 2.9 ether of who withheld once weigh less than 2 ether of a newcomer: 2.9 / 3 < 2 / 2.
    function test_trust_counts_as_much_as_stake() external {
        Parameters memory lenient = Rules.standard();
        (lenient.seats, lenient.minimum, lenient.maxCandidates) = (2, 1, 3);
        (lenient.minTrust, lenient.withholding) = (300_000, 1);
        found(lenient);
        Candidate[] memory four = joined(4);
        open(slice(four, 0, 2));
        reveal(four[1]);
        expire();
        expire();
        serve(slice(four, 1, 3), "first");
        VM.deal(four[0].account, 2.9 ether - 1.75 ether);
        VM.prank(four[0].account);
        book.deposit{value: 2.9 ether - 1.75 ether}();
        pause(1000);
        book.openElection();
        commit(slice(four, 0, 3));
        trusts(four[0], 333_333);
        trusts(four[3], 500_000);
        commit(four[3]);
        _entrants(four, 3, 1, 2);
    }

    function test_a_slashed_entrant_is_the_first_to_go() external {
        _small();
        Candidate[] memory four = new Candidate[](4);
        for (uint256 i = 0; i < 4; ++i) {
            four[i] = person(i);
            register(four[i], (i + 2) * 1 ether);
        }
        Candidate[] memory rest = slice(four, 1, 4);
        (Members memory members, Candidate[] memory serving) = serve(rest, "first");
        pause(1000);
        book.openElection();
        commit(rest);
        book.slash(equivocation(members, bookDomain, 1, placeOf(serving, four[3])));
        commit(four[0]);
        _entrants(four, 1, 2, 0);
    }

    function test_who_is_displaced_loses_nothing_and_may_come_back() external {
        _raise(3, 1);
        commit(_five[3]);
        _isFullFor(2);
        _raise(2, 2);
        commit(_five[2]);
        _entrants(_five, 0, 2, 3);
        Candidate memory gone = _five[1];
        VM.prank(gone.account);
        book.unbond();
        expire();
        VM.prank(gone.account);
        VM.expectRevert(abi.encodeWithSelector(IElection.WrongStage.selector, gone.account, 1));
        book.reveal(gone.secret);
        reveal(_five[0]);
        reveal(slice(_five, 2, 4));
        book.proceed();
        inPhase(Phase.Prove);
        trusts(gone, 500_000);
        VM.assertEq(book.candidate(gone.account).stake, 2 ether);
        VM.assertEq(book.burnt(), 0);
    }

    /// @notice Two Sybils and a friend hold all three places; two honest stakes of one wei more take two of them.
    function test_minimum_stakes_lock_nobody_out() external {
        _raise(3, 1);
        _raise(4, 1);
        commit(slice(_five, 3, 5));
        _entrants(_five, 0, 4, 3);
        expire();
        Candidate[] memory entering = slice(_five, 2, 5);
        entering[0] = _five[0];
        reveal(entering);
        book.proceed();
        prove(entering);
        book.proceed();
        Candidate[] memory serving = elected();
        VM.assertEq(serving.length, 3);
        for (uint256 i = 0; i < 3; ++i) {
            VM.assertLt(placeOf(serving, entering[i]), 3);
        }
    }

    function _small() private {
        Parameters memory rules = Rules.standard();
        (rules.seats, rules.maxCandidates) = (3, 3);
        found(rules);
    }

    /// @dev Adds wei to a stake.
    function _raise(uint256 index, uint256 amount) private {
        VM.deal(_five[index].account, amount);
        VM.prank(_five[index].account);
        book.deposit{value: amount}();
    }

    function _isFullFor(uint256 index) private {
        VM.prank(_five[index].account);
        VM.expectRevert(abi.encodeWithSelector(IElection.ElectionFull.selector, 3));
        book.commit("content");
    }

    function _entrants(Candidate[] memory all, uint256 a, uint256 b, uint256 c) private view {
        address[] memory expected = new address[](3);
        (expected[0], expected[1], expected[2]) = (all[a].account, all[b].account, all[c].account);
        VM.assertEq(book.entrants(), expected);
    }
}
