// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection} from "../../../contracts/interfaces/IElection.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Signature} from "../../../contracts/lib/Schnorr.sol";
import {Greedy} from "../solidity/Greedy.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {VrfProver} from "./support/VrfProver.sol";

/// @notice Receivers that enter again, refuse, or burn gas: they get nothing more and stop nobody else.
contract PaymentsTest is FiveCandidates {
    Greedy private _greedy;
    Candidate private _attacker;

    /// @notice A contract that is registered with 2 ether of its 4, and can be paid in ways of its own.
    function setUp() public override {
        super.setUp();
        _greedy = new Greedy{value: 4 ether}(address(book));
        _attacker = Candidate(address(_greedy), 4321, 1234, bytes32(uint256(1)));
        Signature memory agreed = consent(_attacker, bookDomain);
        bytes memory data = abi.encodeCall(
            IStakes.register,
            (keyOf(_attacker), agreed, VrfProver.prove(_attacker.vrf, book.possessionAlpha(_attacker.account)))
        );
        _greedy.act(data, 2 ether, "");
        candidateOf[voter(_attacker)] = _attacker;
    }

    function test_entering_again_from_a_withdrawal_brings_nothing() external {
        _unbond();
        uint256 snapshot = VM.snapshotState();
        bytes4[4] memory again = [
            IStakes.withdraw.selector, IStakes.claim.selector, IStakes.unbond.selector, IElection.openElection.selector
        ];
        for (uint256 i = 0; i < 4; ++i) {
            _act(IStakes.withdraw.selector, abi.encodeWithSelector(again[i]));
            VM.assertEq(_greedy.entered(), 1);
            VM.assertEq(_greedy.reenteredSuccessfully(), again[i] == IElection.openElection.selector);
            VM.assertEq(address(_greedy).balance, 4 ether);
            VM.assertEq(book.candidate(address(_greedy)).stake, 0);
            VM.assertEq(book.totalStake(), 10 ether);
            solvent();
            VM.revertToState(snapshot);
        }
    }

    function test_entering_again_from_a_claim_brings_nothing() external {
        (Members memory members,) = serve(five, "first");
        _greedy.act(abi.encodeCall(book.slash, (equivocation(members, bookDomain, 1, 0))), 0, "");
        VM.assertEq(book.rewards(address(_greedy)).amount, 0.2 ether);
        pause(10_000);
        _act(IStakes.claim.selector, abi.encodeWithSelector(IStakes.claim.selector));
        VM.assertEq(_greedy.entered(), 1);
        VM.assertFalse(_greedy.reenteredSuccessfully());
        VM.assertEq(address(_greedy).balance, 2.2 ether);
        VM.assertEq(book.totalRewards(), 0);
        solvent();
    }

    function test_a_receiver_that_refuses_hurts_only_itself() external {
        VM.prank(five[0].account);
        book.unbond();
        _unbond();
        _greedy.refuse(true);
        VM.expectRevert(abi.encodeWithSelector(IStakes.PaymentRefused.selector, _greedy, 2 ether));
        _act(IStakes.withdraw.selector, "");
        VM.prank(five[0].account);
        book.withdraw();
        VM.assertEq(book.totalStake(), 10 ether);
        solvent();
        _greedy.refuse(false);
        _act(IStakes.withdraw.selector, "");
        VM.assertEq(address(_greedy).balance, 4 ether);
        solvent();
    }

    function test_a_receiver_that_burns_all_gas_hurts_only_itself() external {
        VM.prank(five[0].account);
        book.unbond();
        _unbond();
        _greedy.burn(true);
        VM.expectRevert();
        _greedy.act{gas: 1_000_000}(abi.encodeWithSelector(IStakes.withdraw.selector), 0, "");
        VM.assertEq(book.candidate(address(_greedy)).stake, 2 ether);
        VM.prank(five[0].account);
        book.withdraw{gas: 60_000}();
        VM.assertEq(book.totalStake(), 10 ether);
        solvent();
    }

    /// @notice A candidate that refuses and burns is elected, votes twice and is slashed like any other.
    function test_no_step_of_an_election_and_no_slashing_calls_a_member() external {
        _greedy.burn(true);
        Candidate[] memory two = slice(five, 0, 2);
        pause(1000);
        book.openElection();
        commit(two);
        _greedy.act(abi.encodeCall(IElection.commit, (commitment(_attacker))), 0, "");
        expire();
        reveal(two);
        _greedy.act(abi.encodeCall(IElection.reveal, (_attacker.secret)), 0, "");
        book.proceed();
        prove(two);
        _greedy.act(abi.encodeCall(IElection.prove, (VrfProver.prove(_attacker.vrf, book.alpha()))), 0, "");
        book.proceed();
        Candidate[] memory serving = elected();
        VM.assertEq(serving.length, 3);
        for (uint256 i = 0; i < 2; ++i) {
            VM.assertLt(placeOf(serving, two[i]), 3);
        }
        Members memory members = membersOf(serving, "first");
        confirm(without(serving, _attacker), members.trapdoor, 2);
        VM.assertEq(book.currentEpoch(), 1);
        book.slash(equivocation(members, bookDomain, 1, placeOf(serving, _attacker)));
        VM.assertTrue(book.candidate(address(_greedy)).slashed);
        VM.assertEq(_greedy.entered(), 0);
        solvent();
    }

    function _act(bytes4 selector, bytes memory again) private {
        _greedy.act(abi.encodeWithSelector(selector), 0, again);
    }

    function _unbond() private {
        _act(IStakes.unbond.selector, "");
        pause(10_000);
    }
}
