// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAcknowledgements} from "../../../../contracts/interfaces/IAcknowledgements.sol";
import {Equivocation, ICommittee} from "../../../../contracts/interfaces/ICommittee.sol";
import {Phase} from "../../../../contracts/interfaces/IElection.sol";
import {Certificate, VotingKey} from "../../../../contracts/interfaces/IQuorum.sol";
import {Parameters} from "../../../../contracts/interfaces/IStakes.sol";
import {Signature} from "../../../../contracts/lib/Schnorr.sol";
import {Curve, Point} from "./Curve.sol";
import {Members, Membership} from "./Members.sol";
import {VM} from "./Vm.sol";
import {VrfProver} from "./VrfProver.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice An account with its voting secret, its VRF secret and the secret that it commits to.
struct Candidate {
    address account;
    uint256 voting;
    uint256 vrf;
    bytes32 secret;
}

/// @notice Rules of committees, and committees under them.
library Rules {
    function standard() internal pure returns (Parameters memory) {
        return Parameters({
            minStake: 1 ether,
            forfeit: 0.25 ether,
            minTrust: 400_000,
            seats: 4,
            minimum: 3,
            maxCandidates: 8,
            reward: 10,
            creditedVotes: 2,
            withholding: 2,
            attempts: 2,
            epochLength: 1000,
            commitPeriod: 100,
            revealPeriod: 100,
            provePeriod: 100,
            confirmPeriod: 100,
            unbondingDelay: 10_000
        });
    }

    /// @notice A committee whose first election is open to everybody.
    function deploy(Parameters memory rules) internal returns (ICommittee) {
        return deploy(rules, new address[](0));
    }

    function deploy(Parameters memory rules, address[] memory founders) internal returns (ICommittee) {
        return deploy(VM.deployCode("VrfVerifier.sol"), rules, founders);
    }

    function deploy(address verifier, Parameters memory rules, address[] memory founders)
        internal
        returns (ICommittee)
    {
        return ICommittee(VM.deployCode("Committee.sol", abi.encode(verifier, rules, founders)));
    }
}

/// @notice Candidates of an elected committee, and the phases of its elections.
abstract contract Elections {
    bytes32 private constant _COMMITMENT = keccak256("BlockFUL/sortition/v1/commitment");
    bytes32 private constant _REGISTRATION = keccak256("Registration(address registrant)");
    uint256 internal constant PERIOD = 100;

    ICommittee internal book;
    bytes32 internal bookDomain;
    mapping(address voter => Candidate) internal candidateOf;

    /// @notice A committee under `rules` with nobody registered.
    function found(Parameters memory rules) internal {
        found(rules, new address[](0));
    }

    function found(Parameters memory rules, address[] memory founders) internal {
        book = Rules.deploy(rules, founders);
        bookDomain = Membership.domainOf(block.chainid, address(book));
    }

    /// @notice The first `count` candidates, registered with a stake of 2 ether each.
    function joined(uint256 count) internal returns (Candidate[] memory all) {
        all = new Candidate[](count);
        for (uint256 i = 0; i < count; ++i) {
            all[i] = person(i);
            register(all[i], 2 ether);
        }
    }

    /// @notice The candidate that a number names, registered or not.
    function person(uint256 number) internal pure returns (Candidate memory) {
        uint256 seed = uint256(keccak256(abi.encode("candidate", number))) >> 1;
        return Candidate(address(uint160(seed)), seed, seed ^ 1, bytes32(seed));
    }

    function register(Candidate memory candidate, uint256 value) internal {
        VotingKey memory key = keyOf(candidate);
        Signature memory agreed = consent(candidate, bookDomain);
        VRF.Proof memory proof = proofOf(candidate, book.possessionAlpha(candidate.account));
        VM.deal(candidate.account, value);
        VM.prank(candidate.account);
        book.register{value: value}(key, agreed, proof);
        candidateOf[voter(candidate)] = candidate;
    }

    function voter(Candidate memory candidate) internal pure returns (address) {
        return VM.addr(candidate.voting);
    }

    function keyOf(Candidate memory candidate) internal returns (VotingKey memory) {
        Point memory key = Curve.base(candidate.voting);
        return VotingKey(key.x, key.y);
    }

    /// @notice The voting key's signature over its registration.
    function consent(Candidate memory candidate, bytes32 domain) internal returns (Signature memory signature) {
        bytes32 struct_ = keccak256(abi.encode(_REGISTRATION, candidate.account));
        (signature.nonce, signature.s) = Membership.schnorr(candidate.voting, domain, struct_);
    }

    function commitment(Candidate memory candidate) internal view returns (bytes32) {
        return commitmentFor(candidate, block.chainid, address(book), book.election().draw);
    }

    function commitmentFor(Candidate memory candidate, uint256 chainId, address target, uint32 drawn)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(_COMMITMENT, chainId, target, drawn, candidate.account, candidate.secret));
    }

    function commit(Candidate memory each) internal {
        bytes32 content = commitment(each);
        VM.prank(each.account);
        book.commit(content);
    }

    function commit(Candidate[] memory all) internal {
        for (uint256 i = 0; i < all.length; ++i) {
            commit(all[i]);
        }
    }

    function reveal(Candidate memory each) internal {
        VM.prank(each.account);
        book.reveal(each.secret);
    }

    function reveal(Candidate[] memory all) internal {
        for (uint256 i = 0; i < all.length; ++i) {
            reveal(all[i]);
        }
    }

    function prove(Candidate memory each) internal {
        prove(each, proofOf(each, book.alpha()));
    }

    function prove(Candidate memory each, VRF.Proof memory proof) internal {
        VM.prank(each.account);
        book.prove(proof);
    }

    function prove(Candidate[] memory all) internal {
        for (uint256 i = 0; i < all.length; ++i) {
            prove(all[i]);
        }
    }

    function proofOf(Candidate memory each, uint256 alpha) internal virtual returns (VRF.Proof memory) {
        return VrfProver.prove(each.vrf, alpha);
    }

    function output(Candidate memory each) internal returns (uint256) {
        return VrfProver.output(VrfProver.prove(each.vrf, book.alpha()));
    }

    /// @notice Confirms the key of `trapdoor`.
    function confirm(Candidate memory each, uint256 trapdoor, uint32 threshold) internal {
        Point memory key = Curve.base(trapdoor);
        VM.prank(each.account);
        book.confirmKey(key.x, key.y, threshold);
    }

    function confirm(Candidate[] memory all, uint256 trapdoor, uint32 threshold) internal {
        for (uint256 i = 0; i < all.length; ++i) {
            confirm(all[i], trapdoor, threshold);
        }
    }

    function pause(uint256 time) internal {
        VM.warp(VM.getBlockTimestamp() + time);
    }

    /// @notice Lets the phase run out, and goes on.
    function expire() internal {
        pause(PERIOD);
        book.proceed();
    }

    /// @notice Opens an election and lets `all` commit: phase Reveal.
    function open(Candidate[] memory all) internal {
        pause(1000);
        book.openElection();
        commit(all);
        expire();
    }

    /// @notice The same up to phase Prove.
    function draw(Candidate[] memory all) internal {
        open(all);
        reveal(all);
        book.proceed();
    }

    /// @notice An election up to phase Confirm; the elected by roster index.
    function elect(Candidate[] memory all) internal returns (Candidate[] memory) {
        draw(all);
        prove(all);
        book.proceed();
        return elected();
    }

    /// @notice A whole election that starts an epoch: its members, with a trapdoor that `seed` determines.
    function serve(Candidate[] memory all, string memory seed)
        internal
        returns (Members memory members, Candidate[] memory serving)
    {
        serving = elect(all);
        members = membersOf(serving, seed);
        uint256 quorum = members.quorum();
        for (uint256 i = 0; i < quorum; ++i) {
            confirm(serving[i], members.trapdoor, uint32(quorum));
        }
    }

    function membersOf(Candidate[] memory serving, string memory seed) internal returns (Members memory) {
        uint256[] memory secrets = new uint256[](serving.length);
        for (uint256 i = 0; i < serving.length; ++i) {
            secrets[i] = serving[i].voting;
        }
        return Membership.withTrapdoor(secrets, uint256(keccak256(bytes(seed))) >> 1);
    }

    /// @notice The members of `epoch`, by their votes of `voters`, say that the mirrors are at their epoch.
    function acknowledgement(Members memory members, uint64 epoch, uint256 voters)
        internal
        returns (Certificate memory)
    {
        bytes32 content = _acknowledgement(epoch);
        return members.certificate(bookDomain, block.chainid, address(book), epoch, "acknowledgement", content, voters);
    }

    function acknowledge(Members memory members, uint64 epoch) internal {
        book.acknowledge(acknowledgement(members, epoch, members.enough()));
    }

    function elected() internal view returns (Candidate[] memory all) {
        address[] memory voters = book.elected();
        all = new Candidate[](voters.length);
        for (uint256 i = 0; i < all.length; ++i) {
            all[i] = candidateOf[voters[i]];
        }
    }

    function phase() internal view returns (Phase) {
        return book.election().phase;
    }

    function inPhase(Phase expected) internal view {
        VM.assertEq(uint256(phase()), uint256(expected));
    }

    function trusts(Candidate memory candidate, uint256 expected) internal view {
        VM.assertEq(book.trust(candidate.account), expected);
    }

    /// @notice The contract holds what it owes and what was burnt.
    function solvent() internal view {
        VM.assertEq(address(book).balance, book.totalStake() + book.totalRewards() + book.burnt());
    }

    /// @notice Evidence of two votes of one member on one proposal.
    function equivocation(Members memory members, bytes32 domain, uint64 epoch, uint256 index)
        internal
        pure
        returns (Equivocation memory)
    {
        bytes memory first = members.vote(domain, epoch, "proposal", "first", index);
        bytes memory second = members.vote(domain, epoch, "proposal", "second", index);
        return Equivocation(epoch, "proposal", index, "first", first, "second", second);
    }

    function _acknowledgement(uint64 epoch) private view returns (bytes32) {
        bytes4 selector = IAcknowledgements.acknowledge.selector;
        bytes32 digest = keccak256(abi.encode(epoch));
        bytes memory action = abi.encode(block.chainid, book, selector, 0, 1, digest);
        return keccak256(bytes.concat(keccak256(action)));
    }

    /// @notice `all[from]` to `all[to - 1]`.
    function slice(Candidate[] memory all, uint256 from, uint256 to) internal pure returns (Candidate[] memory part) {
        part = new Candidate[](to - from);
        for (uint256 i = from; i < to; ++i) {
            part[i - from] = all[i];
        }
    }

    function without(Candidate[] memory all, Candidate memory one) internal pure returns (Candidate[] memory rest) {
        rest = new Candidate[](all.length - 1);
        uint256 next = 0;
        for (uint256 i = 0; i < all.length; ++i) {
            if (all[i].account != one.account) rest[next++] = all[i];
        }
        require(next == rest.length, "not among them");
    }

    /// @notice Where `one` stands in `all`; `all.length` when it does not.
    function placeOf(Candidate[] memory all, Candidate memory one) internal pure returns (uint256 place) {
        while (place < all.length && all[place].account != one.account) ++place;
    }
}

/// @notice A committee under the standard rules with five candidates, a stake of 2 ether each.
abstract contract FiveCandidates is Elections {
    Candidate[] internal five;

    function setUp() public virtual {
        found(Rules.standard());
        Candidate[] memory all = joined(5);
        for (uint256 i = 0; i < all.length; ++i) {
            five.push(all[i]);
        }
    }

    /// @notice Its stake comes back whole.
    function withdraws(Candidate memory by) internal {
        VM.prank(by.account);
        book.withdraw();
        VM.assertEq(by.account.balance, 2 ether);
    }

    /// @dev The next call comes from `by` and is refused with `error_`.
    function expectRefusal(Candidate memory by, bytes memory error_) internal {
        VM.prank(by.account);
        VM.expectRevert(error_);
    }
}
