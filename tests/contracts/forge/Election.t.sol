// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Curve, Point} from "./support/Curve.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {Members} from "./support/Members.sol";
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
}
