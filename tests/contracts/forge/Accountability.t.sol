// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Equivocation, ICommittee, Signed} from "../../../contracts/interfaces/ICommittee.sol";
import {ILiveChain, NewBlock} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action, Certificate, IQuorum, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../contracts/interfaces/IQuorumMirror.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {LiveScene} from "./support/LiveScene.sol";
import {EXECUTOR} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice Votes and service: what raises trust and what lowers it; evidence; the mirror.
contract AccountabilityTest is FiveCandidates, LiveScene {
    Candidate[] private _serving;

    /// @notice The five in epoch 1.
    function setUp() public override {
        super.setUp();
        _start("first");
        domain = bookDomain;
    }

    function test_votes_of_a_certificate_are_credited_once() external {
        VM.expectEmit(address(book));
        emit ICommittee.Reported(1, bytes32(uint256(1)), 7);
        book.report(_certificate(1, 7), block.chainid, EXECUTOR);
        VM.expectRevert(abi.encodeWithSelector(ICommittee.NothingToCredit.selector, bytes32(uint256(1)), 7));
        book.report(_certificate(1, 7), block.chainid, EXECUTOR);
        VM.expectEmit(address(book));
        emit ICommittee.Reported(1, bytes32(uint256(1)), 8);
        book.report(_certificate(1, 14), block.chainid, EXECUTOR);
        VM.assertEq(book.credited(1, bytes32(uint256(1))), 15);
        _trust(666_666, 666_666, 666_666, 666_666);
    }

    function test_an_epoch_credits_only_so_many_votes() external {
        for (uint256 proposal = 0; proposal < 5; ++proposal) {
            book.report(_certificate(proposal, 7), block.chainid, EXECUTOR);
        }
        _trust(750_000, 750_000, 750_000, 500_000);
    }

    function test_a_report_needs_a_certificate_of_the_current_epoch() external {
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.report(_certificate(1, 3), block.chainid, EXECUTOR);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 2, 1));
        book.report(members.certificate(domain, 2, 0, 0, 7), block.chainid, EXECUTOR);
        Certificate memory forged = _certificate(1, 7);
        forged.voters = 14;
        VM.expectPartialRevert(IQuorum.InvalidCertificate.selector);
        book.report(forged, block.chainid, EXECUTOR);
    }

    function test_service_counts_when_the_epoch_ends() external {
        Candidate[] memory before = _serving;
        book.report(_certificate(1, 7), block.chainid, EXECUTOR);
        serve(five, "second");
        for (uint256 i = 0; i < 4; ++i) {
            trusts(before[i], i < 3 ? 750_000 : 333_333);
        }
    }

    function test_evidence_that_convicts_nobody() external {
        Equivocation memory same = _evidence(1);
        (same.secondContent, same.secondVote) = (same.firstContent, same.firstVote);
        VM.expectRevert(abi.encodeWithSelector(ICommittee.SameContent.selector, same.firstContent));
        book.slash(same);
        Equivocation memory framed = _evidence(1);
        framed.index = 2;
        VM.expectRevert(
            abi.encodeWithSelector(ICommittee.InvalidEvidence.selector, 2, voter(_serving[1]), voter(_serving[2]))
        );
        book.slash(framed);
        for (uint256 field = 0; field < 5; ++field) {
            Equivocation memory spoilt = _evidence(1);
            if (field == 0) spoilt.proposal = "another";
            else if (field == 1) spoilt.epoch = 2;
            else if (field == 2) spoilt.secondContent = "another";
            else if (field == 3) spoilt.firstVote = _cut(spoilt.firstVote);
            else spoilt.index = 9;
            VM.expectPartialRevert(ICommittee.InvalidEvidence.selector);
            book.slash(spoilt);
        }
    }

    /// @notice Whoever signed two certificates of one proposal is convicted, whichever contracts they are for.
    function test_two_certificates_of_one_proposal_convict_who_signed_both() external {
        Signed memory first = _signed("first", 7, block.chainid, EXECUTOR);
        Signed memory second = _signed("second", 14, 5, address(book));
        bytes memory innocent = abi.encodeWithSelector(ICommittee.InvalidEvidence.selector, 3, 0, voter(_serving[3]));
        VM.expectRevert(innocent);
        book.slashSigner(first, second, 3);
        VM.expectRevert(abi.encodeWithSelector(ICommittee.SameContent.selector, bytes32("first")));
        book.slashSigner(first, first, 1);
        Signed memory forged = _signed("second", 14, 5, address(book));
        forged.certificate.voters = 15;
        VM.expectPartialRevert(IQuorum.InvalidCertificate.selector);
        book.slashSigner(first, forged, 0);
        book.slashSigner(first, second, 1);
        VM.assertTrue(book.candidate(_serving[1].account).slashed);
    }

    /// @notice Elect, publish, redact, elect again; the mirror follows by the outgoing committee's certificate.
    function test_live_chain_and_mirror_follow_the_elected_committee() external {
        follow(ILiveChain(VM.deployCode("LiveChain.sol", abi.encode(book))));
        (Roster memory roster,) = book.roster(1);
        bytes memory arguments = abi.encode(block.chainid, book, uint64(1), roster);
        IQuorumMirror mirror = IQuorumMirror(VM.deployCode("QuorumMirror.sol", arguments));
        VM.deployCode("ArchiveRegistry.sol", abi.encode(mirror));
        publish(2);

        NewBlock memory late = newBlock(1);
        Action memory action = certifyBlock(late);
        (roster,) = _elected("second");
        bytes32 digest = keccak256(abi.encode(uint64(2), roster));
        Action memory unsure = certifyBy(address(mirror), IQuorumMirror.advance.selector, digest, 3);
        Action memory sure = certify(address(mirror), IQuorumMirror.advance.selector, digest);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        live.append(late, action);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        mirror.advance(2, roster, unsure);
        mirror.advance(2, roster, sure);
        (Roster memory mirrored, uint256 quorum) = mirror.roster(2);
        VM.assertEq(abi.encode(mirrored), abi.encode(roster));
        VM.assertEq(quorum, 3);
        VM.assertEq(mirror.domainSeparator(), book.domainSeparator());

        members = membersOf(elected(), "second");
        epoch = 2;
        redact(at(1, 0));
        VM.assertEq(live.transaction(at(1, 0)).version, 1);
    }

    function _start(string memory seed) private {
        Candidate[] memory serving;
        (members, serving) = serve(five, seed);
        for (uint256 i = 0; i < serving.length; ++i) {
            _serving.push(serving[i]);
        }
    }

    function _elected(string memory seed) private returns (Roster memory, uint256) {
        serve(five, seed);
        return book.roster(2);
    }

    function _certificate(uint256 proposal, uint256 voters) private returns (Certificate memory) {
        return members.certificate(domain, 1, bytes32(proposal), "content", voters);
    }

    function _signed(bytes32 content, uint256 voters, uint256 chain, address executor) private returns (Signed memory) {
        Certificate memory made = members.certificate(domain, chain, executor, 1, "proposal", content, voters);
        return Signed(made, chain, executor);
    }

    function _evidence(uint256 index) private view returns (Equivocation memory) {
        return equivocation(members, domain, 1, index);
    }

    function _trust(uint256 a, uint256 b, uint256 c, uint256 d) private view {
        trusts(_serving[0], a);
        trusts(_serving[1], b);
        trusts(_serving[2], c);
        trusts(_serving[3], d);
    }

    function _cut(bytes memory vote) private pure returns (bytes memory) {
        assembly ("memory-safe") {
            mstore(vote, 63)
        }
        return vote;
    }
}
