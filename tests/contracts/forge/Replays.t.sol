// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Equivocation, ICommittee} from "../../../contracts/interfaces/ICommittee.sol";
import {IElection} from "../../../contracts/interfaces/IElection.sol";
import {Certificate, IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Signature} from "../../../contracts/lib/Schnorr.sol";
import {Candidate, FiveCandidates, Rules} from "./support/Elections.sol";
import {EXECUTOR, Members, Membership} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {VrfProver} from "./support/VrfProver.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice What was signed or proved for one committee, chain or epoch is refused in every other.
contract ReplaysTest is FiveCandidates {
    bytes32[2] private _elsewhere;

    /// @notice Domains of the same contract on another chain, and of another contract on this one.
    function setUp() public override {
        super.setUp();
        _elsewhere[0] = Membership.domainOf(block.chainid + 1, address(book));
        _elsewhere[1] = Membership.domainOf(block.chainid, address(1));
    }

    function test_votes_and_evidence_of_another_place() external {
        (Members memory members,) = serve(five, "first");
        for (uint256 i = 0; i < 2; ++i) {
            Certificate memory votes = members.certificate(_elsewhere[i], 1, "proposal", "content", 7);
            VM.expectPartialRevert(IQuorum.InvalidCertificate.selector);
            book.report(votes, block.chainid, EXECUTOR);
            VM.expectPartialRevert(IQuorum.InvalidCertificate.selector);
            book.requireQuorum(votes);
            Equivocation memory evidence = equivocation(members, _elsewhere[i], 1, 0);
            VM.expectPartialRevert(ICommittee.InvalidEvidence.selector);
            book.slash(evidence);
        }
        book.report(members.certificate(bookDomain, 1, "proposal", "content", 7), block.chainid, EXECUTOR);
    }

    /// @notice The same members in the next epoch: a vote says its epoch, and the epoch says which votes count.
    function test_votes_of_another_epoch() external {
        Candidate[] memory four = slice(five, 0, 4);
        (Members memory first,) = serve(four, "first");
        Certificate memory old = first.certificate(bookDomain, 1, "proposal", "content", 7);
        (Members memory second,) = serve(four, "second");
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        book.report(old, block.chainid, EXECUTOR);
        Certificate memory relabelled = second.certificate(bookDomain, 1, "proposal", "content", 7);
        relabelled.epoch = 2;
        VM.expectPartialRevert(IQuorum.InvalidCertificate.selector);
        book.report(relabelled, block.chainid, EXECUTOR);
        bytes memory one = first.vote(bookDomain, 1, "proposal", "content", 0);
        bytes memory other = first.vote(bookDomain, 2, "proposal", "another", 0);
        VM.expectPartialRevert(ICommittee.InvalidEvidence.selector);
        book.slash(Equivocation(1, "proposal", 0, "content", one, "another", other));
    }

    function test_a_registration_of_another_place() external {
        Candidate memory newcomer = person(6);
        VRF.Proof memory proof = VrfProver.prove(newcomer.vrf, book.possessionAlpha(newcomer.account));
        VM.deal(newcomer.account, 1 ether);
        for (uint256 i = 0; i < 2; ++i) {
            Signature memory agreed = consent(newcomer, _elsewhere[i]);
            VM.prank(newcomer.account);
            VM.expectPartialRevert(IStakes.InvalidConsent.selector);
            book.register{value: 1 ether}(keyOf(newcomer), agreed, proof);
        }
    }

    function test_a_proof_of_possession_of_another_committee() external {
        ICommittee other = Rules.deploy(Rules.standard());
        Candidate memory newcomer = person(6);
        VRF.Proof memory proof = VrfProver.prove(newcomer.vrf, other.possessionAlpha(newcomer.account));
        Signature memory agreed = consent(newcomer, bookDomain);
        VM.deal(newcomer.account, 1 ether);
        expectRefusal(newcomer, "Second mul check failed");
        book.register{value: 1 ether}(keyOf(newcomer), agreed, proof);
    }

    /// @notice Of the same contract on another chain, of another contract, and of the draw before.
    function test_a_commitment_of_another_place_or_draw_opens_nothing() external {
        elect(five);
        expire();
        expire();
        uint256 snapshot = VM.snapshotState();
        _opensNothing(commitmentFor(five[0], block.chainid + 1, address(book), 2));
        VM.revertToState(snapshot);
        _opensNothing(commitmentFor(five[0], block.chainid, address(1), 2));
        VM.revertToState(snapshot);
        _opensNothing(commitmentFor(five[0], block.chainid, address(book), 1));
    }

    function test_a_proof_of_another_draw_or_candidate() external {
        elect(five);
        uint256 before = book.alpha();
        expire();
        expire();
        draw(five);
        VM.assertNotEq(book.alpha(), before);
        VRF.Proof memory old = VrfProver.prove(five[0].vrf, before);
        expectRefusal(five[0], "Second mul check failed");
        book.prove(old);
        VRF.Proof memory theirs = VrfProver.prove(five[0].vrf, book.alpha());
        VM.prank(five[1].account);
        VM.expectPartialRevert(IStakes.WrongVrfKey.selector);
        book.prove(theirs);
        prove(five[0], theirs);
    }

    function _opensNothing(bytes32 foreign) private {
        Candidate memory one = five[0];
        book.openElection();
        VM.prank(one.account);
        book.commit(foreign);
        commit(slice(five, 1, 5));
        expire();
        VM.prank(one.account);
        VM.expectPartialRevert(IElection.WrongSecret.selector);
        book.reveal(one.secret);
    }
}
