// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {HeaderUpdate, ILiveChain, NewBlock, Update} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action, Certificate, IQuorum, Roster} from "../../../contracts/interfaces/IQuorum.sol";
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

    /// @notice The bitmap names who signed, neither more nor fewer nor others.
    function test_voters_that_did_not_sign() external {
        (NewBlock memory made, Action memory action) = _decided();
        uint256[3] memory others = [uint256(14), 15, 11];
        for (uint256 i = 0; i < 3; ++i) {
            action.certificate.voters = others[i];
            _refusedSignature(made, action);
        }
    }

    function test_strangers_in_the_place_of_members() external {
        Members memory known = members;
        members = Membership.draw(4, "stranger");
        (NewBlock memory made, Action memory action) = _decided();
        members = known;
        _refusedSignature(made, action);
    }

    /// @notice A member that knows only the other voters' keys cannot cancel them.
    function test_one_members_signature_for_all() external {
        (NewBlock memory made, Action memory action) = _decided();
        Members memory alone = Membership.withTrapdoor(new uint256[](1), members.trapdoor);
        alone.secrets[0] = members.secrets[0];
        Certificate memory one =
            alone.certificate(domain, block.chainid, address(live), 1, action.certificate.proposal, 0, 1);
        (action.certificate.nonce, action.certificate.s) = (one.nonce, one.s);
        _refusedSignature(made, action);
    }

    /// @notice A failed recovery gives no address, so a nonce of zero is none.
    function test_a_signature_of_zeros() external {
        (NewBlock memory made, Action memory action) = _decided();
        (action.certificate.nonce, action.certificate.s) = (address(0), 0);
        _refusedSignature(made, action);
        action.certificate.s = 1;
        _refusedSignature(made, action);
    }

    /// @notice Every other s is refused, s + n too: a certificate has one encoding.
    function testFuzz_another_response(uint256 s) external {
        (NewBlock memory made, Action memory action) = _decided();
        VM.assume(s != action.certificate.s);
        action.certificate.s = s;
        _refusedSignature(made, action);
    }

    function test_a_signature_for_another_content() external {
        (NewBlock memory made, Action memory action) = _decided();
        bytes32[] memory digests = new bytes32[](1);
        digests[0] = keccak256(abi.encode(newBlock(2)));
        Action memory other =
            certifyChunks(address(live), ILiveChain.append.selector, digests, action.certificate.proposal, 7)[0];
        (action.certificate.nonce, action.certificate.s) = (other.certificate.nonce, other.certificate.s);
        _refusedSignature(made, action);
    }

    /// @notice One content for two contracts takes two certificates: the live one is given once the archive has settled.
    function test_a_certificate_for_another_contract_or_chain() external {
        (NewBlock memory made, Action memory action) = _decided();
        Certificate memory own = action.certificate;
        action.certificate =
            members.certificate(domain, block.chainid, address(archive), 1, own.proposal, own.contentHash, 7);
        _refusedSignature(made, action);
        action.certificate =
            members.certificate(domain, block.chainid + 1, address(live), 1, own.proposal, own.contentHash, 7);
        _refusedSignature(made, action);
        action.certificate = own;
        live.append(made, action);
    }

    function test_a_signature_under_the_domain_of_another_committee() external {
        domain = Membership.domainOf(block.chainid, address(1));
        (NewBlock memory made, Action memory action) = _decided();
        _refusedSignature(made, action);
    }

    function test_a_voter_beyond_the_roster() external {
        (NewBlock memory made, Action memory action) = _decided();
        action.certificate.voters |= 1 << 7;
        _refused(made, action, abi.encodeWithSelector(IQuorum.UnknownMember.selector, 7, 4));
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
        VM.expectRevert(abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(1, HEADER), 1));
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

    /// @notice For another function or content.
    function test_a_certificate_for_something_else() external {
        NewBlock memory made = newBlock(2);
        bytes32 digest = keccak256(abi.encode(made));
        bytes32 leaf = actionLeaf(address(live), ILiveChain.append.selector, 0, 1, digest);
        Action memory action = certify(address(live), ILiveChain.redact.selector, digest);
        _refused(made, action, _notCertified(leaf, action));
        action = certify(address(live), ILiveChain.append.selector, 0);
        _refused(made, action, _notCertified(leaf, action));
    }

    function test_a_replayed_proposal() external {
        (NewBlock memory made, Action memory action) = _decided();
        live.append(made, action);
        _refused(
            made, action, abi.encodeWithSelector(ILiveChain.ParentMismatch.selector, made.parentHash, live.blockHash(1))
        );
    }

    /// @notice A proposal of one chunk takes no slot: its redaction fits one version only.
    function test_a_replayed_redaction() external {
        publish(1);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(at(1, 0)));
        Action memory action = certifyRedaction(updates, headers);
        live.redact(updates, headers, action);
        _progress(action.certificate.proposal, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(ILiveChain.VersionNotNext.selector, at(1, HEADER), 1, 2));
        live.redact(updates, headers, action);
    }

    function test_the_second_of_one_chunk() external {
        NewBlock memory made = newBlock(1);
        bytes32 leaf = actionLeaf(address(live), ILiveChain.append.selector, 1, 1, keccak256(abi.encode(made)));
        bytes32 proposal = bytes32(fresh());
        Certificate memory certificate = members.certificate(domain, block.chainid, address(live), 1, proposal, leaf, 7);
        Action memory second = Action(certificate, 1, 1, new bytes32[](0));
        _refused(made, second, _outOfOrder(second, 1, 0));
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
        Action memory none = Action(
            members.certificate(domain, block.chainid, address(live), 1, proposal, leaf, 7), 0, 0, new bytes32[](0)
        );
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

    function _refusedSignature(NewBlock memory made, Action memory action) private {
        bytes32 digest = committee.certifiedDigest(action.certificate, block.chainid, address(live));
        uint256 voters = action.certificate.voters;
        VM.expectRevert(abi.encodeWithSelector(IQuorum.InvalidCertificate.selector, digest, voters));
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

    function _notCertified(bytes32 leaf, Action memory action) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ICertified.NotCertified.selector, leaf, action.certificate.contentHash);
    }

    function _outOfOrder(Action memory action, uint32 given, uint32 expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ICertified.ChunkOutOfOrder.selector, action.certificate.proposal, given, expected);
    }
}
