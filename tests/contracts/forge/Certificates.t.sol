// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {HeaderUpdate, ILiveChain, NewBlock, Update} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action, IQuorum, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {Members, Membership} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Who may decide: votes, epochs, Merkle paths and chunks, each refusal beside what is accepted.
contract CertificatesTest is World {
    struct Part {
        Update[] updates;
        HeaderUpdate[] headers;
    }

    function setUp() external {
        deploy();
    }

    /// @notice Three or four of four members, whichever they are.
    function test_any_quorum_of_members_decides() external {
        uint256[5] memory quorums = [uint256(13), 7, 11, 14, 15];
        for (uint256 i = 0; i < quorums.length; ++i) {
            NewBlock memory made = newBlock(2);
            Action memory action = _certifiedBy(made, quorums[i]);
            VM.expectEmit(address(live));
            emit ICertified.ChunkExecuted(action.certificate.proposal, 1, 1);
            live.append(made, action);
            remember(made);
            VM.assertEq(live.height(), i + 1);
        }
    }

    function test_too_few_votes() external {
        NewBlock memory made = newBlock(2);
        _refused(made, _certifiedBy(made, 0), _few(0, 3));
        _refused(made, _certifiedBy(made, 1), _few(1, 3));
        _refused(made, _certifiedBy(made, 10), _few(2, 3));
    }

    function test_a_vote_by_a_stranger() external {
        (NewBlock memory made, Action memory action) = _decided();
        Members memory strangers = Membership.draw(2, "stranger");
        bytes memory forged = strangers.vote(domain, 1, action.certificate.proposal, action.certificate.contentHash, 1);
        _replaceVote(action, 1, forged);
        _refused(made, action, _invalidVote(1, strangers.addressOf(1), members.addressOf(1)));
    }

    function test_votes_in_the_wrong_order() external {
        (NewBlock memory made, Action memory action) = _decided();
        bytes memory first = _vote(action, 0);
        _replaceVote(action, 0, _vote(action, 1));
        _replaceVote(action, 1, first);
        _refused(made, action, _invalidVote(0, members.addressOf(1), members.addressOf(0)));
    }

    function test_one_vote_counted_twice() external {
        (NewBlock memory made, Action memory action) = _decided();
        _replaceVote(action, 2, _vote(action, 1));
        _refused(made, action, _invalidVote(2, members.addressOf(1), members.addressOf(2)));
    }

    /// @notice A failed recovery gives the zero address, which is never a member.
    function test_a_vote_of_zeros() external {
        (NewBlock memory made, Action memory action) = _decided();
        _replaceVote(action, 0, new bytes(64));
        _refused(made, action, _invalidVote(0, address(0), members.addressOf(0)));
    }

    function test_votes_for_another_content() external {
        (NewBlock memory made, Action memory action) = _decided();
        bytes32[] memory digests = new bytes32[](1);
        digests[0] = keccak256(abi.encode(newBlock(2)));
        action.certificate.votes =
        certifyChunks(address(live), ILiveChain.append.selector, digests, action.certificate.proposal, 7)[0].certificate
        .votes;
        _refusedVote(made, action);
    }

    function test_votes_under_the_domain_of_another_committee() external {
        domain = Membership.domainOf(block.chainid, address(1));
        (NewBlock memory made, Action memory action) = _decided();
        _refusedVote(made, action);
    }

    function test_a_voter_beyond_the_roster() external {
        (NewBlock memory made, Action memory action) = _decided();
        action.certificate.voters |= 1 << 7;
        action.certificate.votes = bytes.concat(action.certificate.votes, new bytes(64));
        _refused(made, action, abi.encodeWithSelector(IQuorum.UnknownMember.selector, 7, 4));
    }

    function testFuzz_votes_of_another_length(uint16 length) external {
        length %= 1024;
        VM.assume(length != 192);
        (NewBlock memory made, Action memory action) = _decided();
        bytes memory votes = bytes.concat(action.certificate.votes, new bytes(1024 - 192));
        assembly ("memory-safe") {
            mstore(votes, length)
        }
        action.certificate.votes = votes;
        _refused(made, action, abi.encodeWithSelector(IQuorum.MalformedVotes.selector, length, 192));
    }

    function test_a_stale_epoch() external {
        (NewBlock memory made, Action memory action) = _decided();
        handOver(4, "second");
        _refused(made, action, abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
    }

    function test_an_epoch_to_come() external {
        epoch = 2;
        (NewBlock memory made, Action memory action) = _decided();
        _refused(made, action, abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 2, 1));
    }

    function test_the_next_epoch_decides_under_its_own_key() external {
        publish(1);
        handOver(7, "second");
        redact(at(1, 0));
        VM.assertEq(live.transaction(at(1, 0)).version, 1);
        VM.assertEq(live.transaction(at(1, 0)).epoch, 2);
    }

    function test_the_old_trapdoor_is_powerless_in_the_next_epoch() external {
        publish(1);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(at(1, 0)));
        handOver(4, "second");
        Action memory action = certifyRedaction(updates, headers);
        VM.expectRevert(abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(1, 0), 1));
        live.redact(updates, headers, action);
    }

    function test_unanimity() external {
        members = Membership.draw(4, "second");
        Roster memory all = members.roster();
        (all.unanimous, all.threshold) = (true, 4);
        committee.appoint(all);
        epoch = 2;
        NewBlock memory made = newBlock(1);
        _refused(made, _certifiedBy(made, 7), _few(3, 4));
        live.append(made, _certifiedBy(made, 15));
        VM.assertEq(live.height(), 1);
    }

    function test_a_wrong_merkle_path() external {
        NewBlock memory made = newBlock(2);
        bytes32[] memory digests = new bytes32[](2);
        digests[0] = keccak256(abi.encode(made));
        Action[] memory actions = certifyChunks(address(live), ILiveChain.append.selector, digests, bytes32(fresh()), 7);
        bytes32[] memory path = actions[0].path;
        actions[0].path = new bytes32[](1);
        bytes32 leaf = actionLeaf(address(live), ILiveChain.append.selector, 0, 2, digests[0]);
        _refused(made, actions[0], _notCertified(leaf, actions[0]));
        actions[0].path = path;
        live.append(made, actions[0]);
        _progress(actions[0].certificate.proposal, 1, 2);
    }

    /// @notice Of another chain, contract, function or content.
    function test_a_certificate_for_something_else() external {
        NewBlock memory made = newBlock(2);
        bytes32 digest = keccak256(abi.encode(made));
        bytes32 leaf = actionLeaf(address(live), ILiveChain.append.selector, 0, 1, digest);
        ++actionChain;
        Action memory action = certify(address(live), ILiveChain.append.selector, digest);
        _refused(made, action, _notCertified(leaf, action));
        --actionChain;
        action = certify(address(archive), ILiveChain.append.selector, digest);
        _refused(made, action, _notCertified(leaf, action));
        action = certify(address(live), ILiveChain.redact.selector, digest);
        _refused(made, action, _notCertified(leaf, action));
        action = certify(address(live), ILiveChain.append.selector, 0);
        _refused(made, action, _notCertified(leaf, action));
    }

    function test_a_replayed_proposal() external {
        (NewBlock memory made, Action memory action) = _decided();
        live.append(made, action);
        _refused(made, action, _outOfOrder(action, 0, 1));
    }

    function test_chunks_run_in_order_and_settle_together() external {
        (Part[3] memory parts, Action[] memory actions) = _threeChunks();
        _refusedPart(parts[1], actions[1], _outOfOrder(actions[1], 1, 0));
        for (uint32 done = 1; done < 4; ++done) {
            VM.expectEmit(address(live));
            emit ICertified.ChunkExecuted(actions[0].certificate.proposal, done, 3);
            live.redact(parts[done - 1].updates, parts[done - 1].headers, actions[done - 1]);
            _progress(actions[0].certificate.proposal, done, 3);
            for (uint32 height = 1; height < 4; ++height) {
                VM.assertEq(live.transaction(at(height, 0)).settled, done == 3 || height > done);
            }
        }
        _refusedPart(parts[2], actions[2], _outOfOrder(actions[2], 2, 3));
    }

    function test_a_chunk_cannot_run_twice() external {
        (Part[3] memory parts, Action[] memory actions) = _threeChunks();
        live.redact(parts[0].updates, parts[0].headers, actions[0]);
        _refusedPart(parts[0], actions[0], _outOfOrder(actions[0], 0, 1));
    }

    function test_another_number_of_chunks() external {
        (Part[3] memory parts, Action[] memory actions) = _threeChunks();
        bytes32 proposal = actions[0].certificate.proposal;
        live.redact(parts[0].updates, parts[0].headers, actions[0]);
        bytes32[] memory digests = new bytes32[](2);
        digests[0] = redactionDigest(parts[0].updates, parts[0].headers);
        digests[1] = redactionDigest(parts[1].updates, parts[1].headers);
        Action[] memory shorter = certifyChunks(address(live), ILiveChain.redact.selector, digests, proposal, 7);
        _refusedPart(
            parts[1], shorter[1], abi.encodeWithSelector(ICertified.ChunkCountChanged.selector, proposal, 2, 3)
        );
    }

    function test_a_proposal_of_no_chunks() external {
        NewBlock memory made = newBlock(2);
        bytes32 leaf = actionLeaf(address(live), ILiveChain.append.selector, 0, 0, keccak256(abi.encode(made)));
        bytes32 proposal = bytes32(fresh());
        Action memory none = Action(members.certificate(domain, 1, proposal, leaf, 7), 0, 0, new bytes32[](0));
        _refused(made, none, abi.encodeWithSelector(ICertified.ChunkCountChanged.selector, proposal, 0, 1));
    }

    function test_a_new_decision_settles_what_an_unfinished_one_left() external {
        (Part[3] memory parts, Action[] memory actions) = _threeChunks();
        live.redact(parts[0].updates, parts[0].headers, actions[0]);
        settle(parts[0].updates, parts[0].headers);
        VM.assertFalse(live.transaction(at(1, 0)).settled);
        redact(at(1, 0));
        VM.assertTrue(live.transaction(at(1, 0)).settled);
    }

    function _decided() private returns (NewBlock memory made, Action memory action) {
        made = newBlock(2);
        action = certifyBlock(made);
    }

    function _certifiedBy(NewBlock memory made, uint256 voters) private returns (Action memory) {
        return certifyBy(address(live), ILiveChain.append.selector, keccak256(abi.encode(made)), voters);
    }

    /// @dev Three redactions, one for each of three published blocks, under one certificate.
    function _threeChunks() private returns (Part[3] memory parts, Action[] memory actions) {
        bytes32[] memory digests = new bytes32[](3);
        for (uint32 i = 0; i < 3; ++i) {
            publish(1);
            (parts[i].updates, parts[i].headers) = redaction(list(at(i + 1, 0)));
            digests[i] = redactionDigest(parts[i].updates, parts[i].headers);
        }
        actions = certifyChunks(address(live), ILiveChain.redact.selector, digests, bytes32(fresh()), 7);
    }

    function _refused(NewBlock memory made, Action memory action, bytes memory error_) private {
        VM.expectRevert(error_);
        live.append(made, action);
    }

    function _refusedVote(NewBlock memory made, Action memory action) private {
        VM.expectPartialRevert(IQuorum.InvalidVote.selector);
        live.append(made, action);
    }

    function _refusedPart(Part memory part, Action memory action, bytes memory error_) private {
        VM.expectRevert(error_);
        live.redact(part.updates, part.headers, action);
    }

    function _progress(bytes32 proposal, uint32 done, uint32 chunks) private view {
        (uint32 foundDone, uint32 foundChunks) = live.progress(proposal);
        VM.assertEq(foundDone, done);
        VM.assertEq(foundChunks, chunks);
    }

    function _few(uint256 votes, uint256 needed) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, votes, needed);
    }

    function _invalidVote(uint256 index, address recovered, address expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IQuorum.InvalidVote.selector, index, recovered, expected);
    }

    function _notCertified(bytes32 leaf, Action memory action) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ICertified.NotCertified.selector, leaf, action.certificate.contentHash);
    }

    function _outOfOrder(Action memory action, uint32 given, uint32 expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ICertified.ChunkOutOfOrder.selector, action.certificate.proposal, given, expected);
    }

    function _vote(Action memory action, uint256 index) private pure returns (bytes memory vote) {
        vote = new bytes(64);
        for (uint256 i = 0; i < 64; ++i) {
            vote[i] = action.certificate.votes[64 * index + i];
        }
    }

    function _replaceVote(Action memory action, uint256 index, bytes memory vote) private pure {
        for (uint256 i = 0; i < 64; ++i) {
            action.certificate.votes[64 * index + i] = vote[i];
        }
    }
}
