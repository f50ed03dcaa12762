// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {VM} from "./support/Vm.sol";
import {VrfProver} from "./support/VrfProver.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Candidates of an election: who may enter, how many there must be, and what each proves for itself.
contract CandidatesTest is FiveCandidates {
    function test_who_may_commit() external {
        Candidate memory one = five[0];
        Candidate memory other = five[1];
        Candidate memory stranger = person(9);
        book.openElection();
        expectRefusal(stranger, abi.encodeWithSelector(IStakes.UnknownCandidate.selector, stranger.account));
        book.commit("content");
        expectRefusal(one, abi.encodeWithSelector(IElection.EmptyCommitment.selector));
        book.commit(0);
        commit(one);
        expectRefusal(one, abi.encodeWithSelector(IElection.WrongStage.selector, one.account, 1));
        book.commit("content");
        VM.prank(other.account);
        book.unbond();
        expectRefusal(other, abi.encodeWithSelector(IStakes.IsUnbonding.selector, other.account));
        book.commit("content");
        expectRefusal(one, abi.encodeWithSelector(IStakes.Engaged.selector, one.account));
        book.unbond();
    }

    function test_too_few_candidates_elect_nobody() external {
        book.openElection();
        commit(slice(five, 0, 2));
        pause(PERIOD);
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(1, 1, "too few candidates");
        book.proceed();
        inPhase(Phase.Idle);
        trusts(five[0], 500_000);
    }

    function test_fewer_candidates_than_seats_all_serve() external {
        (, Candidate[] memory serving) = serve(slice(five, 0, 3), "three");
        VM.assertEq(serving.length, 3);
        (Roster memory roster, uint256 quorum) = book.roster(1);
        VM.assertEq(roster.members.length, 3);
        VM.assertEq(quorum, 2);
    }

    function test_a_secret_of_another_candidate_opens_nothing() external {
        Candidate[] memory all = five;
        book.openElection();
        bytes32 copied = commitment(all[0]);
        commit(all[0]);
        VM.prank(all[1].account);
        book.commit(copied);
        commit(slice(all, 2, 5));
        expire();
        bytes32 theirs = all[0].secret;
        VM.prank(all[1].account);
        VM.expectPartialRevert(IElection.WrongSecret.selector);
        book.reveal(theirs);
        theirs = all[1].secret;
        VM.prank(all[0].account);
        VM.expectPartialRevert(IElection.WrongSecret.selector);
        book.reveal(theirs);
        reveal(all[0]);
        expectRefusal(all[0], abi.encodeWithSelector(IElection.WrongStage.selector, all[0].account, 1));
        book.reveal(all[0].secret);
    }

    function test_forged_proofs() external {
        draw(five);
        Candidate memory forger = five[0];
        VRF.Proof memory good = VrfProver.prove(forger.vrf, book.alpha());
        bytes memory whole = abi.encode(good);
        VRF.Proof memory bad = abi.decode(whole, (VRF.Proof));
        ++bad.s;
        _forged(bad, "addr(c*pk+s*g)!=_uWitness");
        bad = abi.decode(whole, (VRF.Proof));
        bad.gamma = bad.cGammaWitness;
        _forged(bad, "First mul check failed");
        bad = abi.decode(whole, (VRF.Proof));
        ++bad.zInv;
        _forged(bad, "invZ must be inverse of z");
        bad = abi.decode(whole, (VRF.Proof));
        bad.gamma[1] ^= 1;
        _forged(bad, "gamma is not on curve");
        bad = VrfProver.prove(forger.vrf, book.alpha() - 1);
        _forged(bad, "Second mul check failed");
        bad.seed = book.alpha();
        _forged(bad, "Second mul check failed");
        bad = VrfProver.prove(five[1].vrf, book.alpha());
        VM.prank(forger.account);
        VM.expectPartialRevert(IStakes.WrongVrfKey.selector);
        book.prove(bad);
        prove(forger, good);
        expectRefusal(forger, abi.encodeWithSelector(IElection.WrongStage.selector, forger.account, 1));
        book.prove(good);
    }

    function _forged(VRF.Proof memory proof, string memory reason) private {
        VM.prank(five[0].account);
        VM.expectRevert(bytes(reason));
        book.prove(proof);
    }
}
