// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAlarmRegistry} from "../../../contracts/interfaces/IAlarmRegistry.sol";
import {IArchiveRegistry, Record} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {IEventCount} from "../../../contracts/interfaces/IEventCount.sol";
import {HeaderUpdate, ILiveChain, Update} from "../../../contracts/interfaces/ILiveChain.sol";
import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IReaderRegistry} from "../../../contracts/interfaces/IReaderRegistry.sol";
import {Curve, Point} from "./support/Curve.sol";
import {Membership} from "./support/Members.sol";
import {Log, VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Each contract counts the events that it emits, whichever function emits them.
contract EventCountTest is World {
    /// @dev Events that were found before.
    mapping(IEventCount target => uint256) private _before;

    function setUp() external {
        VM.recordLogs();
        deploy();
    }

    function test_of_the_live_chain() external {
        publish(4);
        redact(list(at(1, 0), at(1, 3)));
        _counted(live, 5 + 3);
        _redactInChunks();
        _counted(live, 2 + 2 * 3);
    }

    function test_of_the_archive() external {
        Record[] memory records = new Record[](3);
        for (uint64 i = 0; i < 3; ++i) {
            records[i] = Record(i, 0, 0, RAW, "digest");
        }
        archiveRecords(archive.head(), TIME, records);
        _counted(archive, 2);
        Point memory key = Curve.base(9);
        _setAuditor(key.x, key.y);
        _setAuditor(0, 0);
        _counted(archive, 4);
    }

    /// @notice One certificate for records in two chunks is logged once.
    function test_of_an_archive_in_chunks() external {
        Record[] memory records = new Record[](1);
        records[0] = Record(1, 0, 0, RAW, "digest");
        bytes32 head = archive.head();
        bytes32 next =
            keccak256(abi.encode(head, uint64(0), uint64(1), uint32(0), uint8(0), RAW, bytes32("digest"), TIME));
        bytes32[] memory digests = new bytes32[](2);
        digests[0] = keccak256(abi.encode(head, TIME, records));
        digests[1] = keccak256(abi.encode(next, TIME, records));
        Action[] memory actions =
            certifyChunks(address(archive), IArchiveRegistry.append.selector, digests, "two", members.enough());
        archive.append(head, TIME, records, actions[0]);
        archive.append(next, TIME, records, actions[1]);
        _counted(archive, 3 + 2);
    }

    function test_of_a_mirror_that_is_deployed_and_advances() external {
        _counted(IEventCount(address(mirror)), 1);
        Roster memory next = Membership.draw(5, "next").roster();
        mirror.advance(2, next, certifyRoster(2, next));
        _counted(IEventCount(address(mirror)), 2);
    }

    function test_of_the_readers() external {
        IReaderRegistry readers = IReaderRegistry(VM.deployCode("ReaderRegistry.sol", abi.encode(committee, live)));
        Point memory key = Curve.base(77);
        readers.register(key.x, key.y);
        readers.register(key.x, key.y);
        readers.leave();
        _counted(readers, 3);
        for (uint256 i = 0; i < 2; ++i) {
            bytes32 digest = keccak256(abi.encode(address(this), i == 0));
            readers.setBarred(
                address(this), i == 0, certify(address(readers), IReaderRegistry.setBarred.selector, digest)
            );
        }
        _counted(readers, 4);
    }

    function test_of_the_participants() external {
        IParticipantRegistry registry = IParticipantRegistry(
            VM.deployCode("ParticipantRegistry.sol", abi.encode(committee, live, uint32(1), true))
        );
        registry.found("file");
        registry.join();
        registry.announce(address(1), "http://a.example");
        registry.announce(address(0), "");
        uint32 number = registry.file("request", RAW, 10);
        bytes32 digest = keccak256(abi.encode(number, registry.filed(number).content, true));
        registry.decide(number, true, certify(address(registry), IParticipantRegistry.decide.selector, digest));
        registry.handIn(number, 1, "part", RAW);
        registry.leave();
        registry.declare(1, "recipients", RAW);
        _counted(registry, 9);
        digest = keccak256(abi.encode(bytes32("another")));
        registry.changeFile("another", certify(address(registry), IParticipantRegistry.changeFile.selector, digest));
        digest = keccak256(abi.encode(address(this)));
        registry.admit(address(this), certify(address(registry), IParticipantRegistry.admit.selector, digest));
        for (uint256 i = 0; i < 2; ++i) {
            digest = keccak256(abi.encode(address(this), i == 0));
            registry.setBarred(
                address(this), i == 0, certify(address(registry), IParticipantRegistry.setBarred.selector, digest)
            );
        }
        _counted(registry, 8);
    }

    function test_of_the_alarms() external {
        IAlarmRegistry alarms = IAlarmRegistry(VM.deployCode("AlarmRegistry.sol", abi.encode(committee)));
        for (uint256 i = 0; i < 3; ++i) {
            alarms.alarm(1, "proposal", "reason", i, members.alarm(domain, 1, "proposal", "reason", i));
        }
        _counted(alarms, 3);
    }

    /// @notice The number of its epoch counts what an appointed committee emits.
    function test_of_an_appointed_committee() external {
        handOver(4, "second");
        Log[] memory logs = VM.getRecordedLogs();
        uint256 found = 0;
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter == address(committee)) ++found;
        }
        VM.assertEq(committee.currentEpoch(), found);
    }

    /// @dev Two redactions, in one proposal.
    function _redactInChunks() private {
        publish(1);
        bytes32[] memory digests = new bytes32[](2);
        (Update[] memory first, HeaderUpdate[] memory firstHeader) = redaction(list(at(1, 1)));
        (Update[] memory second, HeaderUpdate[] memory secondHeader) = redaction(list(at(2, 0)));
        digests[0] = redactionDigest(first, firstHeader);
        digests[1] = redactionDigest(second, secondHeader);
        Action[] memory actions =
            certifyChunks(address(live), ILiveChain.redact.selector, digests, "two", members.enough());
        live.redact(first, firstHeader, actions[0]);
        live.redact(second, secondHeader, actions[1]);
    }

    function _setAuditor(uint256 x, uint256 y) private {
        bytes32 digest = keccak256(abi.encode(address(this), x, y));
        Action memory action = certify(address(archive), IArchiveRegistry.setAuditor.selector, digest);
        archive.setAuditor(address(this), x, y, action);
    }

    /// @dev `expected` events since the last time, and as many in all as the contract says.
    function _counted(IEventCount target, uint256 expected) private {
        Log[] memory logs = VM.getRecordedLogs();
        uint256 found = 0;
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter == address(target)) ++found;
        }
        VM.assertEq(found, expected);
        _before[target] += found;
        VM.assertEq(target.eventCount(), _before[target]);
    }
}
