// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IQuorum, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Curve, Point} from "./support/Curve.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {EXECUTOR, Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {VrfProver} from "./support/VrfProver.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Elections: phases, seed, outputs, group key, and what withholding costs.
contract ElectionTest is FiveCandidates {
    function test_an_election_from_commitment_to_epoch() external {
        inPhase(Phase.Idle);
        VM.assertEq(book.currentEpoch(), 0);
        Candidate[] memory serving = elect(five);
        inPhase(Phase.Confirm);
        _byOutput(serving);
        Members memory members = membersOf(serving, "first");
        confirm(slice(serving, 1, 3), members.trapdoor, 3);
        VM.expectEmit(address(book));
        emit IQuorum.EpochStarted(1, members.keyId(), members.addresses(), 3, 3, members.keyX, members.keyY);
        confirm(serving[3], members.trapdoor, 3);
        VM.assertEq(book.keyId(1), members.keyId());
        inPhase(Phase.Idle);
        VM.assertEq(book.currentEpoch(), 1);
    }

    function test_the_seed_and_the_input_are_bound_to_chain_contract_epoch_and_draw() external {
        open(five);
        reveal(five);
        bytes32 fold;
        for (uint256 i = 0; i < 5; ++i) {
            fold ^= keccak256(abi.encode(five[i].account, five[i].secret));
        }
        bytes memory place = abi.encode(block.chainid, book, 1, 1);
        bytes32 seed = keccak256(bytes.concat(keccak256("BlockFUL/sortition/v1/seed"), place, bytes32(0), fold));
        bytes memory input = bytes.concat(keccak256("BlockFUL/sortition/v1/alpha"), place, seed, bytes32(0));
        VM.expectEmit(address(book));
        emit IElection.SeedDrawn(1, 1, seed, uint256(keccak256(input)));
        book.proceed();
        VM.assertEq(book.election().seed, seed);
        VM.assertEq(book.alpha(), uint256(keccak256(input)));
    }

    function test_each_step_is_logged() external {
        Candidate memory one = five[0];
        VM.expectEmit(address(book));
        emit IElection.PhaseStarted(1, 1, Phase.Commit, VM.getBlockTimestamp() + PERIOD);
        book.openElection();
        bytes32 content = commitment(one);
        _expect();
        emit IElection.Committed(1, one.account, content);
        VM.prank(one.account);
        book.commit(content);
        commit(slice(five, 1, 5));
        expire();
        _expect();
        emit IElection.Revealed(1, one.account, one.secret);
        reveal(one);
        reveal(slice(five, 1, 5));
        book.proceed();
        VRF.Proof memory proof = VrfProver.prove(one.vrf, book.alpha());
        _expect();
        emit IElection.Proved(1, one.account, VrfProver.output(proof));
        prove(one, proof);
        prove(slice(five, 1, 5));
        book.proceed();
        Candidate memory first = elected()[0];
        Point memory key = Curve.base(7);
        bytes32 id = keccak256(abi.encode(1, 1, key.x, key.y, 3));
        _expect();
        emit IElection.KeyConfirmed(1, 1, first.account, id, 1);
        VM.prank(first.account);
        book.confirmKey(key.x, key.y, 3);
    }

    function test_phases_take_their_time() external {
        Candidate[] memory all = five;
        VRF.Proof memory proof = VrfProver.prove(all[0].vrf, 1);
        _wrongPhase(Phase.Commit);
        book.proceed();
        _wrongPhase(Phase.Commit);
        book.commit("content");
        _wrongPhase(Phase.Reveal);
        book.reveal("secret");
        _wrongPhase(Phase.Prove);
        book.prove(proof);
        _wrongPhase(Phase.Confirm);
        book.confirmKey(1, 2, 3);
        open(new Candidate[](0));
        inPhase(Phase.Idle);
        book.openElection();
        VM.expectRevert(abi.encodeWithSelector(IElection.WrongPhase.selector, Phase.Commit, Phase.Idle));
        book.openElection();
        _tooEarly();
        commit(slice(all, 0, 3));
        pause(PERIOD);
        expectRefusal(all[3], abi.encodeWithSelector(IElection.TooLate.selector, block.timestamp, block.timestamp));
        book.commit("content");
        book.proceed();
        reveal(slice(all, 0, 2));
        _tooEarly();
        pause(PERIOD);
        expectRefusal(all[2], abi.encodeWithSelector(IElection.TooLate.selector, block.timestamp, block.timestamp));
        book.reveal(all[2].secret);
    }

    function test_the_next_election_waits_for_the_epochs_least_length() external {
        serve(five, "first");
        uint256 since = VM.getBlockTimestamp();
        VM.expectRevert(abi.encodeWithSelector(IStakes.TooEarly.selector, since, since + 1000));
        book.openElection();
        pause(1000);
        book.openElection();
        inPhase(Phase.Commit);
    }

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
        _expectVoid(1, "too few candidates");
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
        _tooEarly();
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

    function testFuzz_the_order_of_reveals_does_not_matter(uint256 shuffle) external {
        open(five);
        uint256 snapshot = VM.snapshotState();
        reveal(five);
        book.proceed();
        bytes32 seed = book.election().seed;
        VM.revertToState(snapshot);
        Candidate[] memory all = five;
        for (uint256 i = 5; i > 1; --i) {
            uint256 other = shuffle % i;
            shuffle /= i;
            (all[i - 1], all[other]) = (all[other], all[i - 1]);
        }
        reveal(all);
        book.proceed();
        VM.assertEq(book.election().seed, seed);
    }

    /// @dev The elected are those with the four smallest outputs, in their order.
    function _byOutput(Candidate[] memory serving) private {
        VM.assertEq(serving.length, 4);
        uint256 previous = 0;
        for (uint256 i = 0; i < 4; ++i) {
            uint256 next = output(serving[i]);
            VM.assertLt(previous, next);
            previous = next;
        }
        for (uint256 i = 0; i < 5; ++i) {
            if (placeOf(serving, five[i]) == 4) VM.assertLt(previous, output(five[i]));
        }
    }

    function _expect() private {
        VM.expectEmit(address(book));
    }

    function _wrongPhase(Phase needed) private {
        VM.expectRevert(abi.encodeWithSelector(IElection.WrongPhase.selector, Phase.Idle, needed));
    }

    function _tooEarly() private {
        VM.expectPartialRevert(IStakes.TooEarly.selector);
        book.proceed();
    }

    function _forged(VRF.Proof memory proof, string memory reason) private {
        VM.prank(five[0].account);
        VM.expectRevert(bytes(reason));
        book.prove(proof);
    }

    function _expectVoid(uint32 drawn, string memory reason) private {
        VM.expectEmit(address(book));
        emit IElection.ElectionVoid(1, drawn, reason);
    }
}
