// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry, Record, StoredRecord} from "../../../../contracts/interfaces/IArchiveRegistry.sol";
import {ICertified} from "../../../../contracts/interfaces/ICertified.sol";
import {Action, IQuorum} from "../../../../contracts/interfaces/IQuorum.sol";
import {Members, Membership} from "./Members.sol";
import {VM} from "./Vm.sol";
import {World} from "./World.sol";

/// @notice Records that are archived or refused, and a mirror that advances; each action is chosen by a number.
contract ArchiveHistories is World {
    mapping(bytes32 outcome => uint256) public seen;

    /// @dev Hash of each stored record with its time, and the head after each.
    bytes32[] private _stored;
    bytes32[] private _heads;
    mapping(bytes32 head => bool) private _known;
    uint64 private _latest = TIME;
    /// @dev Events of the archive so far.
    uint256 private _logged;

    constructor() {
        deploy();
        _extend(keccak256(abi.encode(block.chainid, archive)));
    }

    function archiveSome(uint256 number) external {
        Record[] memory records = _records(number);
        _latest += uint64(number % 3);
        Action memory action = certifyRecords(_head(), _latest, records);
        bytes32 before = _head();
        archive.append(before, _latest, records, action);
        _logged += 2;
        _extend(records);
        ++seen["archive"];
        _expect(IArchiveRegistry.HeadMismatch.selector);
        archive.append(before, _latest, records, action);
    }

    /// @notice One decision in two transactions.
    function archiveInChunks(uint256 number) external {
        Record[][2] memory parts = [_records(number), _records(number >> 2)];
        bytes32[2] memory heads;
        bytes32[] memory digests = new bytes32[](2);
        for (uint256 i = 0; i < 2; ++i) {
            heads[i] = _head();
            digests[i] = keccak256(abi.encode(heads[i], _latest, parts[i]));
            _extend(parts[i]);
        }
        Action[] memory actions = certifyChunks(
            address(archive), IArchiveRegistry.append.selector, digests, bytes32(fresh()), members.enough()
        );
        _expect(ICertified.ChunkOutOfOrder.selector);
        archive.append(heads[1], _latest, parts[1], actions[1]);
        archive.append(heads[0], _latest, parts[0], actions[0]);
        _expect(ICertified.ChunkOutOfOrder.selector);
        archive.append(heads[0], _latest, parts[0], actions[0]);
        archive.append(heads[1], _latest, parts[1], actions[1]);
        _logged += 5;
        ++seen["chunks"];
    }

    function archiveBadly(uint256 number) external {
        uint256 kind = number % 6;
        Record[] memory records = kind == 0 ? new Record[](0) : _records(number);
        if (kind == 1) records[0].reason = 2;
        else if (kind == 2) records[records.length - 1].codec = 0;
        uint64 time = kind != 3 ? _latest : _stored.length != 0 ? _latest - 1 : type(uint64).max;
        bytes32 head = kind == 4 ? keccak256("another") : _head();
        Action memory action = certifyRecords(head, time, records);
        if (kind == 5) ++records[0].position;
        _expect(
            [
                IArchiveRegistry.NothingToArchive.selector,
                IArchiveRegistry.UnknownReason.selector,
                IArchiveRegistry.UnknownCodec.selector,
                IArchiveRegistry.TimestampOutOfRange.selector,
                IArchiveRegistry.HeadMismatch.selector,
                ICertified.NotCertified.selector
            ][kind]
        );
        archive.append(head, time, records, action);
    }

    /// @notice The next epoch; the committee before archives nothing any more.
    function advance(uint256 number) external {
        Record[] memory records = _records(number);
        Action memory late = certifyRecords(_head(), _latest, records);
        Members memory next = Membership.draw(1 + number % 7, VM.toString(epoch));
        mirror.advance(epoch + 1, next.roster(), certifyRoster(epoch + 1, next.roster()));
        (members, epoch) = (next, epoch + 1);
        _expect(IQuorum.StaleEpoch.selector);
        archive.append(_head(), _latest, records, late);
        ++seen["epoch"];
    }

    /// @notice All that was archived stands as it was archived, nothing else does, and the head chains it.
    function check() external view {
        VM.assertEq(archive.length(), _stored.length);
        VM.assertEq(archive.eventCount(), _logged);
        VM.assertEq(archive.head(), _head());
        StoredRecord[] memory found = archive.records(0, archive.length());
        for (uint256 i = 0; i < found.length; ++i) {
            VM.assertEq(keccak256(abi.encode(found[i])), _stored[i]);
        }
        VM.assertEq(mirror.currentEpoch(), epoch);
    }

    function _head() private view returns (bytes32) {
        return _heads[_heads.length - 1];
    }

    function _extend(Record[] memory records) private {
        for (uint256 i = 0; i < records.length; ++i) {
            bytes memory record = abi.encode(records[i]);
            _extend(keccak256(bytes.concat(abi.encode(_head(), _stored.length), record, abi.encode(_latest))));
            _stored.push(keccak256(abi.encode(StoredRecord(records[i], _latest))));
        }
    }

    /// @dev No head comes twice.
    function _extend(bytes32 head) private {
        VM.assertFalse(_known[head]);
        _known[head] = true;
        _heads.push(head);
    }

    function _records(uint256 number) private returns (Record[] memory records) {
        records = new Record[](1 + (number >> 8) % 4);
        for (uint256 i = 0; i < records.length; ++i) {
            uint256 drawn = fresh();
            uint8 codec = drawn % 3 == 0 ? 0x70 : 0x55;
            records[i] = Record(uint64(drawn), uint32(drawn >> 64), uint8((drawn >> 96) % 2), codec, bytes32(drawn));
        }
    }

    function _expect(bytes4 error_) private {
        ++seen[error_];
        VM.expectPartialRevert(error_);
    }
}
