// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {EXECUTOR, Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice Withheld secrets and proofs: what they cost, and how the election goes on.
contract WithholdingTest is FiveCandidates {
    /// @notice Who reveals last knows the seed; withholding gives it no choice, only a fresh draw without it.
    function test_a_withheld_secret_voids_the_draw_and_costs_place_trust_and_stake() external {
        Candidate memory grinder = five[4];
        Candidate[] memory rest = slice(five, 0, 4);
        open(five);
        reveal(rest);
        pause(PERIOD);
        VM.expectEmit(address(book));
        emit IElection.Withheld(1, grinder.account, Phase.Reveal);
        _expectVoid(1, "a secret was withheld");
        book.proceed();
        inPhase(Phase.Commit);
        VM.assertEq(book.election().draw, 2);
        trusts(grinder, 250_000);
        VM.assertEq(book.candidate(grinder.account).stake, 1.75 ether);
        VM.assertEq(book.burnt(), 0.25 ether);
        expectRefusal(grinder, abi.encodeWithSelector(IStakes.Untrusted.selector, 250_000, 400_000));
        book.commit("content");
        commit(rest);
        expire();
        reveal(rest);
        book.proceed();
        inPhase(Phase.Prove);
        solvent();
    }

    function test_a_withholder_comes_back_as_a_newcomer_once_its_stake_was_unbound() external {
        (Candidate memory idle, Candidate memory other) = (five[0], five[1]);
        Candidate[] memory rest = slice(five, 2, 5);
        VM.prank(other.account);
        book.unbond();
        open(without(five, other));
        reveal(rest);
        expire();
        VM.prank(idle.account);
        book.unbond();
        commit(rest);
        expire();
        reveal(rest);
        book.proceed();
        prove(rest);
        book.proceed();
        confirm(slice(elected(), 0, 2), 7, 2);
        pause(10_000);
        trusts(idle, 250_000);
        VM.expectEmit(address(book));
        emit IStakes.TrustChanged(idle.account, 0, 0, 500_000);
        VM.prank(idle.account);
        book.withdraw();
        trusts(idle, 500_000);
        VM.recordLogs();
        VM.prank(other.account);
        book.withdraw();
        VM.assertEq(VM.getRecordedLogs().length, 1);
        VM.deal(idle.account, 1 ether);
        VM.prank(idle.account);
        book.deposit{value: 1 ether}();
        book.openElection();
        commit(idle);
        VM.assertEq(book.election().committed, 1);
    }

    function test_a_trusted_withholder_is_still_barred_from_this_epoch() external {
        (Members memory members, Candidate[] memory serving) = serve(five, "first");
        for (uint256 i = 0; i < 2; ++i) {
            book.report(members.certificate(bookDomain, 1, bytes32(i), "content", 15), block.chainid, EXECUTOR);
        }
        open(five);
        reveal(without(five, serving[0]));
        expire();
        trusts(serving[0], 500_000);
        expectRefusal(serving[0], abi.encodeWithSelector(IElection.Barred.selector, serving[0].account, 2));
        book.commit("content");
    }

    function test_a_withheld_proof_costs_trust() external {
        draw(five);
        Candidate memory best = five[0];
        for (uint256 i = 1; i < 5; ++i) {
            if (output(five[i]) < output(best)) best = five[i];
        }
        prove(without(five, best));
        VM.expectPartialRevert(IStakes.TooEarly.selector);
        book.proceed();
        pause(PERIOD);
        VM.expectEmit(address(book));
        emit IElection.Withheld(1, best.account, Phase.Prove);
        book.proceed();
        Candidate[] memory serving = elected();
        VM.assertEq(placeOf(serving, best), serving.length);
        trusts(best, 250_000);
        inPhase(Phase.Confirm);
        VM.assertEq(book.burnt(), 0.25 ether);
    }

    function test_too_few_proofs_elect_nobody() external {
        draw(five);
        prove(slice(five, 0, 2));
        pause(PERIOD);
        _expectVoid(1, "too few proofs");
        book.proceed();
        inPhase(Phase.Idle);
    }

    function _expectVoid(uint32 drawn, string memory reason) private {
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(1, drawn, reason);
    }
}
