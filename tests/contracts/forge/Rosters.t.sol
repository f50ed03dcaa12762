// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAppointedCommittee} from "../../../contracts/interfaces/IAppointedCommittee.sol";
import {IArchiveRegistry, Record} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {NewBlock} from "../../../contracts/interfaces/ILiveChain.sol";
import {ILiveChain} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action, Certificate, IQuorum, Roster, VotingKey} from "../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../contracts/interfaces/IQuorumMirror.sol";
import {Curve} from "./support/Curve.sol";
import {Rules} from "./support/Elections.sol";
import {Members, Membership} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Rosters on the home chain, and on the mirror that follows it.
contract RostersTest is World {
    function setUp() external {
        deploy();
    }

    function test_the_first_epoch() external {
        IQuorum[2] memory books = [IQuorum(committee), mirror];
        for (uint256 i = 0; i < 2; ++i) {
            VM.assertEq(books[i].currentEpoch(), 1);
            (Roster memory roster, uint256 quorum) = books[i].roster(1);
            VM.assertEq(abi.encode(roster), abi.encode(members.roster()));
            VM.assertEq(roster.threshold, 3);
            VM.assertEq(quorum, 3);
            VM.assertEq(books[i].keyId(1), members.keyId());
            VM.assertEq(books[i].domainSeparator(), domain);
            bytes32 decision = keccak256("Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)");
            bytes32 struct_ = keccak256(abi.encode(decision, 1, bytes32("proposal"), bytes32("content")));
            VM.assertEq(
                books[i].decisionDigest(1, "proposal", "content"),
                keccak256(abi.encodePacked(hex"1901", domain, struct_))
            );
        }
    }

    function test_an_unknown_epoch() external view {
        VM.assertEq(committee.keyId(2), 0);
        (Roster memory roster, uint256 quorum) = committee.roster(2);
        VM.assertEq(roster.members.length, 0);
        VM.assertEq(quorum, 0);
    }

    /// @notice A certificate without votes would reach a quorum of none.
    function test_nothing_is_certified_before_the_first_epoch() external {
        _certifiesNothing(IQuorum(VM.deployCode("AppointedCommittee.sol", abi.encode(address(this)))));
        _certifiesNothing(Rules.deploy(Rules.standard()));
    }

    function test_appointing_starts_the_next_epoch() external {
        Members memory seven = Membership.draw(7, "seven");
        Roster memory roster = seven.roster();
        VM.expectEmit(address(committee));
        emit IQuorum.EpochStarted(2, seven.keyId(), seven.addresses(), 5, 5, seven.keyX, seven.keyY);
        VM.assertEq(committee.appoint(roster), 2);
        VM.assertEq(committee.currentEpoch(), 2);
        VM.assertEq(committee.keyId(1), members.keyId());
        VM.assertEq(committee.keyId(2), seven.keyId());
    }

    function testFuzz_only_the_appointer_appoints(address stranger) external {
        VM.assume(stranger != address(this));
        Roster memory next = _next();
        VM.prank(stranger);
        VM.expectRevert(abi.encodeWithSelector(IAppointedCommittee.NotAppointer.selector, stranger, address(this)));
        committee.appoint(next);
    }

    function test_a_roster_that_breaks_a_rule() external {
        Roster memory bad = _next();
        (bad.members, bad.threshold) = (new VotingKey[](0), 0);
        _refused(bad, "no members");
        bad = _next();
        bad.threshold = 0;
        _refused(bad, "threshold is zero");
        bad.threshold = 5;
        _refused(bad, "threshold above the number of members");
        bad = _next();
        bad.keyY = 1;
        _refused(bad, "group key is not on secp256k1");
        (bad.keyX, bad.keyY) = (0, 0);
        _refused(bad, "group key is not on secp256k1");
        (bad.keyX, bad.keyY) = (Curve.P + 1, _next().keyY);
        _refused(bad, "group key is not on secp256k1");
    }

    function test_a_member_without_a_key_or_repeated() external {
        Roster memory bad = _next();
        bad.members[3] = VotingKey(0, 0);
        _refused(bad, "a voting key is not on secp256k1");
        bad.members[3] = VotingKey(Curve.P + 1, _next().members[3].y);
        _refused(bad, "a voting key is not on secp256k1");
        bad.members[3] = bad.members[0];
        _refused(bad, "a member is listed twice");
    }

    /// @notice Keys that cancel each other, and one that is the sum of those before it, neither stop an epoch nor
    /// change who decides.
    function test_keys_that_meet_in_the_sum() external {
        members = Membership.draw(6, "meeting");
        members.secrets[1] = Curve.N - members.secrets[0];
        members.secrets[3] = addmod(members.secrets[2], 1, Curve.N);
        members.secrets[4] = addmod(members.secrets[2], members.secrets[3], Curve.N);
        committee.appoint(members.roster());
        epoch = 2;
        uint256[4] memory quorums = [uint256(63), 62, 47, 60];
        for (uint256 i = 0; i < 4; ++i) {
            NewBlock memory made = newBlock(1);
            bytes32 digest = keccak256(abi.encode(made));
            live.append(made, certifyBy(address(live), ILiveChain.append.selector, digest, quorums[i]));
            remember(made);
        }
        VM.assertEq(live.height(), 4);
    }

    function test_more_members_than_bits() external {
        Roster memory crowd = _next();
        crowd.members = new VotingKey[](257);
        _refused(crowd, "more than 256 members");
    }

    function test_256_members_vote() external {
        handOver(256, "crowd");
        NewBlock memory made = newBlock(1);
        bytes32 digest = keccak256(abi.encode(made));
        Action memory few = certifyBy(address(live), ILiveChain.append.selector, digest, (1 << 170) - 1);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 170, 171));
        live.append(made, few);
        uint256 last = type(uint256).max << (256 - 171);
        live.append(made, certifyBy(address(live), ILiveChain.append.selector, digest, last));
        VM.assertEq(live.height(), 1);
    }

    function test_the_mirror_follows_by_the_outgoing_committees_certificate() external {
        Members memory second = Membership.draw(7, "seven");
        Roster memory roster = second.roster();
        Action memory action = certifyRoster(2, roster);
        VM.expectEmit(address(mirror));
        emit IQuorum.EpochStarted(2, second.keyId(), second.addresses(), 5, 5, second.keyX, second.keyY);
        mirror.advance(2, roster, action);
        _refusedByMirror(3, _next(), abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        (members, epoch) = (second, 2);
        mirror.advance(3, _next(), certifyRoster(3, _next()));
        VM.assertEq(mirror.currentEpoch(), 3);
    }

    function testFuzz_the_mirror_skips_no_epoch(uint64 given) external {
        VM.assume(given != 2);
        _refusedByMirror(given, _next(), abi.encodeWithSelector(IQuorumMirror.EpochNotNext.selector, given, 2));
    }

    function test_a_mirror_starts_with_an_epoch_that_there_is() external {
        bytes memory arguments = abi.encode(block.chainid, committee, uint64(0), _next());
        bytes memory code = bytes.concat(VM.getCode("QuorumMirror.sol"), arguments);
        VM.expectRevert(abi.encodeWithSelector(IQuorumMirror.EpochNotNext.selector, 0, 1));
        assembly ("memory-safe") {
            pop(create(0, add(code, 0x20), mload(code)))
        }
    }

    function test_the_mirror_takes_only_what_was_certified() external {
        Action memory action = certifyRoster(2, _next());
        Roster memory other = Membership.draw(4, "other").roster();
        bytes32 digest = keccak256(abi.encode(uint64(2), other));
        bytes32 leaf = actionLeaf(address(mirror), IQuorumMirror.advance.selector, 0, 1, digest);
        VM.expectRevert(abi.encodeWithSelector(ICertified.NotCertified.selector, leaf, action.certificate.contentHash));
        mirror.advance(2, other, action);
    }

    function test_the_mirror_checks_rosters_too() external {
        Roster memory bad = _next();
        bad.threshold = 0;
        _refusedByMirror(2, bad, abi.encodeWithSelector(IQuorum.InvalidRoster.selector, "threshold is zero"));
    }

    function _next() private returns (Roster memory) {
        return Membership.draw(4, "second").roster();
    }

    function _refused(Roster memory roster, string memory reason) private {
        VM.expectRevert(abi.encodeWithSelector(IQuorum.InvalidRoster.selector, reason));
        committee.appoint(roster);
    }

    function _refusedByMirror(uint64 next, Roster memory roster, bytes memory error_) private {
        Action memory action = certifyRoster(next, roster);
        VM.expectRevert(error_);
        mirror.advance(next, roster, action);
    }

    function _certifiesNothing(IQuorum book) private {
        bytes memory stale = abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 0, 0);
        VM.expectRevert(stale);
        book.requireQuorum(Certificate(0, "proposal", "content", 0, address(0), 0));
        IArchiveRegistry empty = IArchiveRegistry(VM.deployCode("ArchiveRegistry.sol", abi.encode(book)));
        Record[] memory records = new Record[](1);
        records[0] = Record(at(1, 0), 0, 0, 0x55, "digest");
        bytes32 digest = keccak256(abi.encode(empty.head(), uint64(1), records));
        bytes32 leaf = actionLeaf(address(empty), IArchiveRegistry.append.selector, 0, 1, digest);
        Action memory action = Action(Certificate(0, "proposal", leaf, 0, address(0), 0), 0, 1, new bytes32[](0));
        bytes32 head = empty.head();
        VM.expectRevert(stale);
        empty.append(head, 1, records, action);
    }
}
