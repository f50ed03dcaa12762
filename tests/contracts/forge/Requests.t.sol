// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {FiledRequest, IParticipantRegistry, RequestState} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action, IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {RegistryScene} from "./support/RegistryScene.sol";
import {VM} from "./support/Vm.sol";

/// @notice Participants file requests; a quorum admits or dismisses each, once; participants hand in their parts of an
/// admitted one until its deadline.
contract RequestsTest is RegistryScene {
    function setUp() external {
        deploy();
        VM.roll(NOW);
        deployRegistry(2, true);
        join(ANN);
    }

    function testFuzz_a_request_is_filed_with_the_height_of_the_live_chain(
        bytes32 digest,
        bool dagPb,
        uint64 duration,
        uint8 height
    ) external {
        uint8 codec = dagPb ? DAG_PB : RAW;
        duration = 1 + duration % registry.MAX_BLOCKS();
        height %= 4;
        for (uint256 i = 0; i < height; ++i) {
            publish(1);
        }
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.Filed(1, ANN, digest, codec, duration, height);
        file(ANN, digest, codec, duration);
        bytes24 content = contentOf(ANN, digest, codec, duration, height);
        FiledRequest memory expected = FiledRequest(content, 0, ANN, height, uint24(duration), 0, RequestState.Filed);
        filedIs(1, expected);
        publish(1);
        filedIs(1, expected);
    }

    function test_requests_are_numbered_from_one() external {
        FiledRequest memory none;
        filedIs(1, none);
        join(BEN);
        VM.assertEq(file(ANN), 1);
        VM.assertEq(file(BEN), 2);
        VM.assertEq(file(ANN), 3);
        VM.assertEq(registry.requests(), 3);
        filedIs(0, none);
        filedIs(4, none);
    }

    function testFuzz_no_other_durations(uint64 duration) external {
        uint64 most = registry.MAX_BLOCKS();
        if (duration != 0 && duration <= most) duration += most;
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidDuration.selector, duration, most));
        file(ANN, DIGEST, RAW, duration);
    }

    function testFuzz_no_other_codecs(uint8 codec) external {
        VM.assume(codec != RAW && codec != DAG_PB);
        decide(file(ANN), true);
        bytes memory refusal = abi.encodeWithSelector(IParticipantRegistry.UnknownCodec.selector, codec);
        VM.expectRevert(refusal);
        file(ANN, DIGEST, codec, 5);
        VM.expectRevert(refusal);
        VM.prank(ANN);
        registry.handIn(1, 7, PART, codec);
    }

    function testFuzz_the_deadline_counts_from_the_admission(uint64 duration, uint64 later) external {
        duration = 1 + duration % registry.MAX_BLOCKS();
        file(ANN, DIGEST, RAW, duration);
        uint64 admission = NOW + later % 2 ** 40;
        VM.roll(admission);
        Action memory action = certifyDecision(1, true);
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.RequestAdmitted(1, action.certificate.proposal, admission + duration);
        registry.decide(1, true, action);
        bytes24 content = contentOf(ANN, DIGEST, RAW, duration, 0);
        filedIs(1, FiledRequest(content, admission + duration, ANN, 0, uint24(duration), 0, RequestState.Admitted));
    }

    function testFuzz_a_dismissed_request_has_no_deadline(uint64 later) external {
        file(ANN);
        VM.roll(NOW + later % 2 ** 40);
        Action memory action = certifyDecision(1, false);
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.RequestDismissed(1, action.certificate.proposal);
        registry.decide(1, false, action);
        filedIs(1, FiledRequest(contentOf(ANN, DIGEST, RAW, 5, 0), 0, ANN, 0, 5, 0, RequestState.Dismissed));
    }

    /// @notice Whatever was decided first stands, under another certificate and under the same.
    function testFuzz_a_request_is_decided_once(bool first, bool second, uint64 later) external {
        file(ANN);
        Action memory action = certifyDecision(1, first);
        registry.decide(1, first, action);
        FiledRequest memory decided = registry.filed(1);
        VM.roll(NOW + later % 2 ** 40);
        bytes memory refusal = abi.encodeWithSelector(IParticipantRegistry.RequestNotWaiting.selector, 1);
        VM.expectRevert(refusal);
        registry.decide(1, first, action);
        action = certifyDecision(1, second);
        VM.expectRevert(refusal);
        registry.decide(1, second, action);
        filedIs(1, decided);
    }

    function testFuzz_nothing_is_decided_on_a_request_that_was_not_filed(uint32 request, bool admitted) external {
        file(ANN);
        VM.assume(request != 1);
        Action memory action = certifyDecision(request, admitted);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.RequestNotWaiting.selector, request));
        registry.decide(request, admitted, action);
    }

    function test_a_decision_is_for_the_request_and_the_answer_that_it_names() external {
        file(ANN);
        file(ANN);
        Action memory action = certifyDecision(1, true);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        registry.decide(1, false, action);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        registry.decide(2, true, action);
        registry.decide(1, true, action);
        filedIs(2, FiledRequest(contentOf(ANN, DIGEST, RAW, 5, 0), 0, ANN, 0, 5, 1, RequestState.Filed));
    }

    /// @notice After a reorganisation of the chain another request has the number: by another participant, with another
    /// file or duration, or filed at another height.
    function test_a_decision_is_about_the_request_that_members_have_read() external {
        join(BEN);
        uint256 before = VM.snapshotState();
        file(ANN);
        Action memory action = certifyDecision(1, true);
        VM.revertToState(before);
        for (uint256 kind = 0; kind < 5; ++kind) {
            if (kind == 4) publish(1);
            file(kind == 0 ? BEN : ANN, kind == 1 ? PART : DIGEST, kind == 2 ? DAG_PB : RAW, kind == 3 ? 6 : 5);
            VM.expectPartialRevert(ICertified.NotCertified.selector);
            registry.decide(1, true, action);
            VM.revertToState(before);
        }
        file(ANN);
        registry.decide(1, true, action);
    }

    function testFuzz_too_few_votes_decide_nothing(uint8 voters, bool admitted) external {
        file(ANN);
        voters %= 16;
        bytes32 digest = decisionDigest(1, admitted);
        uint256 votes;
        for (uint256 bits = voters; bits != 0; bits >>= 1) {
            votes += bits & 1;
        }
        VM.assume(votes != 0);
        Action memory action = certifyBy(address(registry), IParticipantRegistry.decide.selector, digest, voters);
        if (votes < 3) VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, votes, 3));
        registry.decide(1, admitted, action);
        VM.assertEq(registry.filed(1).state == RequestState.Filed, votes < 3);
    }

    function test_a_former_committee_decides_nothing() external {
        file(ANN);
        Action memory action = certifyDecision(1, true);
        handOver(4, "second");
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        registry.decide(1, true, action);
        decide(1, false);
    }

    /// @notice One certificate decides on several, in the order of its chunks.
    function test_a_certificate_decides_on_several_requests() external {
        bytes32[] memory digests = new bytes32[](3);
        for (uint32 i = 0; i < 3; ++i) {
            digests[i] = decisionDigest(file(ANN), i == 1);
        }
        Action[] memory actions = certifyChunks(
            address(registry), IParticipantRegistry.decide.selector, digests, bytes32(fresh()), members.enough()
        );
        VM.expectPartialRevert(ICertified.ChunkOutOfOrder.selector);
        registry.decide(2, true, actions[1]);
        for (uint32 i = 0; i < 3; ++i) {
            registry.decide(i + 1, i == 1, actions[i]);
            VM.expectPartialRevert(ICertified.ChunkOutOfOrder.selector);
            registry.decide(i + 1, i == 1, actions[i]);
        }
        VM.assertTrue(registry.filed(1).state == RequestState.Dismissed);
        VM.assertTrue(registry.filed(2).state == RequestState.Admitted);
        VM.assertTrue(registry.filed(3).state == RequestState.Dismissed);
    }

    function testFuzz_parts_are_handed_in_until_the_deadline(
        uint64 duration,
        uint64 admission,
        uint64 later,
        uint64 position
    ) external {
        duration = 1 + duration % registry.MAX_BLOCKS();
        admission = NOW + admission % 2 ** 40;
        file(ANN, DIGEST, RAW, duration);
        VM.roll(admission);
        decide(1, true);
        VM.roll(admission + later % (duration + 1));
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.HandedIn(1, position, ANN, PART, DAG_PB);
        VM.prank(ANN);
        registry.handIn(1, position, PART, DAG_PB);
        VM.roll(admission + duration);
        handIn(ANN, 1);
        VM.roll(admission + duration + 1 + later % 2 ** 40);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.RequestClosed.selector, 1, admission + duration));
        handIn(ANN, 1);
    }

    function testFuzz_parts_of_admitted_requests_only(uint32 request) external {
        for (uint32 i = 1; i <= 3; ++i) {
            file(ANN);
        }
        decide(1, true);
        decide(2, false);
        VM.assume(request != 1);
        handIn(ANN, 1);
        for (uint32 i = 2; i <= 4; ++i) {
            uint32 other = i == 4 ? request : i;
            VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.RequestNotAdmitted.selector, other));
            handIn(ANN, other);
        }
    }

    function testFuzz_others_file_and_hand_in_nothing(address other) external {
        VM.assume(other != ANN);
        decide(file(ANN), true);
        _canDoNothing(other, IParticipantRegistry.NotJoined.selector);
    }

    function test_who_left_files_and_hands_in_nothing() external {
        decide(file(ANN), true);
        leave(ANN);
        _canDoNothing(ANN, IParticipantRegistry.NotJoined.selector);
        join(BEN);
        handIn(BEN, 1);
    }

    function test_who_is_barred_files_and_hands_in_nothing() external {
        decide(file(ANN), true);
        setBarred(ANN, true);
        _canDoNothing(ANN, IParticipantRegistry.ParticipantIsBarred.selector);
        setBarred(ANN, false);
        _canDoNothing(ANN, IParticipantRegistry.NotJoined.selector);
        join(ANN);
        handIn(ANN, 1);
    }

    /// @notice A request of a participant that has gone is decided on like any other.
    function testFuzz_who_filed_may_have_gone(bool barred, bool admitted) external {
        file(ANN);
        if (barred) setBarred(ANN, true);
        else leave(ANN);
        decide(1, admitted);
        VM.assertTrue(registry.filed(1).state == (admitted ? RequestState.Admitted : RequestState.Dismissed));
    }

    function _canDoNothing(address account, bytes4 refusal) private {
        VM.expectRevert(abi.encodeWithSelector(refusal, account));
        file(account);
        VM.expectRevert(abi.encodeWithSelector(refusal, account));
        handIn(account, 1);
    }
}
