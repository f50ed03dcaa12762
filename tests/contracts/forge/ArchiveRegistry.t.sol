// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry, Record, StoredRecord} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {Curve, Point} from "./support/Curve.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice The archive only grows, and its head binds every record.
contract ArchiveRegistryTest is World {
    Record private _first = Record(at(1, 0), 0, 0, 0x55, bytes32(uint256(1)));
    Record private _second = Record(at(1, 1), 0, 0, 0x70, bytes32(uint256(2)));
    Record private _third = Record(at(1, 0), 3, 1, 0x55, bytes32(uint256(3)));
    address private constant AUDITOR = address(0xA0D1);

    function setUp() external {
        deploy();
    }

    function test_an_empty_archive() external view {
        VM.assertEq(archive.head(), keccak256(abi.encode(block.chainid, archive)));
        VM.assertEq(archive.length(), 0);
        VM.assertEq(archive.records(0, 0).length, 0);
    }

    function test_records_are_chained() external {
        Record[] memory two = _two(_first, _second);
        bytes32 head = archive.head();
        bytes32 middle = _step(head, 0, _first, TIME);
        bytes32 last = _step(middle, 1, _second, TIME);
        Action memory action = certifyRecords(head, TIME, two);
        VM.expectEmit(address(archive));
        emit IArchiveRegistry.RecordsCertified(action.certificate.proposal, action.certificate);
        VM.expectEmit(address(archive));
        emit IArchiveRegistry.Archived(0, TIME, last, bytes.concat(_packed(_first), _packed(_second)));
        archive.append(head, TIME, two, action);
        VM.assertEq(archive.head(), last);
        archiveRecords(last, TIME, _one(_third));
        VM.assertEq(archive.head(), _step(last, 2, _third, TIME));
        VM.assertEq(archive.length(), 3);
        StoredRecord[] memory stored = archive.records(0, 3);
        VM.assertEq(abi.encode(stored[0]), abi.encode(StoredRecord(_first, TIME)));
        VM.assertEq(abi.encode(stored[1]), abi.encode(StoredRecord(_second, TIME)));
        VM.assertEq(abi.encode(stored[2]), abi.encode(StoredRecord(_third, TIME)));
        VM.assertEq(archive.records(1, 1).length, 1);
    }

    /// @notice Two histories that differ in one field of one record, or in its time, end in different heads.
    function testFuzz_any_change_changes_the_head(Record memory record, uint64 timestamp, uint8 field) external {
        _normalize(record);
        timestamp %= uint64(block.timestamp);
        Record memory changed = abi.decode(abi.encode(record), (Record));
        uint64 later = timestamp;
        if (field % 6 == 0) changed.position ^= 1;
        else if (field % 6 == 1) changed.version ^= 1;
        else if (field % 6 == 2) changed.reason ^= 1;
        else if (field % 6 == 3) changed.codec = changed.codec == 0x55 ? 0x70 : 0x55;
        else if (field % 6 == 4) changed.digest ^= bytes32(uint256(1));
        else ++later;
        bytes32 start = archive.head();
        uint256 snapshot = VM.snapshotState();
        archiveRecords(start, timestamp, _one(record));
        bytes32 head = archive.head();
        VM.assertEq(head, _step(start, 0, record, timestamp));
        VM.revertToState(snapshot);
        archiveRecords(start, later, _one(changed));
        VM.assertNotEq(archive.head(), head);
        VM.assertNotEq(_step(start, 0, record, timestamp), _step(start, 1, record, timestamp));
    }

    function test_a_head_that_has_moved_on() external {
        bytes32 start = archive.head();
        archiveRecords(start, TIME, _one(_first));
        _refused(
            start,
            TIME,
            _one(_second),
            abi.encodeWithSelector(IArchiveRegistry.HeadMismatch.selector, start, archive.head())
        );
    }

    /// @notice Records of transactions of different sizes, from every start and of every length.
    function test_records_are_found_where_they_lie() external {
        uint64[6] memory sizes = [uint64(1), 3, 1, 7, 2, 1];
        StoredRecord[] memory all = new StoredRecord[](15);
        uint64 filled = 0;
        for (uint64 i = 0; i < sizes.length; ++i) {
            Record[] memory records = new Record[](sizes[i]);
            for (uint64 k = 0; k < sizes[i]; ++k) {
                records[k] = Record(~filled, uint32(filled) << 24, uint8(filled % 2), 0x70, ~bytes32(uint256(filled)));
                all[filled++] = StoredRecord(records[k], TIME + i);
            }
            archiveRecords(archive.head(), TIME + i, records);
        }
        for (uint64 start = 0; start <= filled; ++start) {
            for (uint64 count = 0; start + count <= filled; ++count) {
                StoredRecord[] memory found = archive.records(start, count);
                VM.assertEq(found.length, count);
                for (uint64 i = 0; i < count; ++i) {
                    VM.assertEq(abi.encode(found[i]), abi.encode(all[start + i]));
                }
            }
        }
    }

    /// @notice As many records as a contract's code holds, and one more.
    function test_a_transaction_of_too_many_records() external {
        Record[] memory records = new Record[](534);
        for (uint64 i = 0; i < records.length; ++i) {
            records[i] = _first;
        }
        bytes32 head = archive.head();
        _refused(head, TIME, records, abi.encodeWithSelector(IArchiveRegistry.TooManyRecords.selector, 534, 533));
        assembly ("memory-safe") {
            mstore(records, 533)
        }
        archiveRecords(head, TIME, records);
        VM.assertEq(archive.length(), 533);
        VM.assertEq(abi.encode(archive.records(532, 1)[0]), abi.encode(StoredRecord(_first, TIME)));
    }

    function test_too_little_gas_for_the_records() external {
        Record[] memory records = new Record[](100);
        for (uint64 i = 0; i < records.length; ++i) {
            records[i] = _first;
        }
        bytes32 head = archive.head();
        bytes memory call =
            abi.encodeCall(IArchiveRegistry.append, (head, TIME, records, certifyRecords(head, TIME, records)));
        (bool done,) = address(archive).call{gas: 900_000}(call);
        VM.assertFalse(done);
        VM.assertEq(archive.length(), 0);
        (done,) = address(archive).call(call);
        VM.assertTrue(done);
    }

    /// @notice Bits beyond a field's type, each in a certified record.
    function test_spare_bits_of_records() external {
        bytes32 head = archive.head();
        for (uint256 field = 0; field < 4; ++field) {
            bytes memory list = abi.encode(_one(_first));
            assembly ("memory-safe") {
                let place := add(list, add(0x60, mul(field, 0x20)))
                mstore(place, or(mload(place), shl(64, 1)))
            }
            bytes memory content = bytes.concat(abi.encode(head, TIME, 0x60), _from(list, 32));
            Action memory action = certify(address(archive), IArchiveRegistry.append.selector, keccak256(content));
            bytes memory call = abi.encodeCall(IArchiveRegistry.append, (head, TIME, _one(_first), action));
            for (uint256 i = 0; i < list.length - 64; ++i) {
                call[4 + 32 * 5 + i] = list[64 + i];
            }
            (bool done, bytes memory answer) = address(archive).call(call);
            VM.assertFalse(done);
            VM.assertNotEq(bytes4(answer), ICertified.NotCertified.selector);
        }
    }

    function test_nothing_to_archive() external {
        _refused(
            archive.head(), TIME, new Record[](0), abi.encodeWithSelector(IArchiveRegistry.NothingToArchive.selector)
        );
    }

    function test_an_unknown_reason() external {
        _first.reason = 2;
        _refused(archive.head(), TIME, _one(_first), abi.encodeWithSelector(IArchiveRegistry.UnknownReason.selector, 2));
    }

    function test_an_unknown_codec() external {
        _first.codec = 1;
        _refused(archive.head(), TIME, _one(_first), abi.encodeWithSelector(IArchiveRegistry.UnknownCodec.selector, 1));
    }

    function test_times_do_not_go_back_nor_far_ahead() external {
        archiveRecords(archive.head(), TIME, _one(_first));
        uint64 latest = uint64(block.timestamp) + archive.MAX_DRIFT();
        VM.assertEq(archive.MAX_DRIFT(), 900);
        _refused(
            archive.head(),
            TIME - 1,
            _one(_second),
            abi.encodeWithSelector(IArchiveRegistry.TimestampOutOfRange.selector, TIME - 1, TIME, latest)
        );
        _refused(
            archive.head(),
            latest + 1,
            _one(_second),
            abi.encodeWithSelector(IArchiveRegistry.TimestampOutOfRange.selector, latest + 1, TIME, latest)
        );
        archiveRecords(archive.head(), TIME, _one(_second));
        archiveRecords(archive.head(), latest, _one(_third));
    }

    function test_records_that_do_not_exist() external {
        archiveRecords(archive.head(), TIME, _one(_first));
        _unknown(0, 2, 1);
        _unknown(5, 1, 5);
        _unknown(0, type(uint64).max, 1);
    }

    function test_auditors_come_and_go() external {
        Point memory key = Curve.base(77);
        Action memory action = _certifyAuditor(AUDITOR, key.x, key.y);
        VM.expectEmit(address(archive));
        emit IArchiveRegistry.AuditorRegistered(AUDITOR, key.x, key.y);
        archive.setAuditor(AUDITOR, key.x, key.y, action);
        _hasKey(key.x, key.y);
        action = _certifyAuditor(AUDITOR, 0, 0);
        VM.expectEmit(address(archive));
        emit IArchiveRegistry.AuditorRemoved(AUDITOR);
        archive.setAuditor(AUDITOR, 0, 0, action);
        _hasKey(0, 0);
    }

    function test_a_key_off_the_curve() external {
        _refusedAuditor(AUDITOR, 1, 1);
        _refusedAuditor(AUDITOR, 0, 1);
        _refusedAuditor(AUDITOR, Curve.base(77).x, 0);
    }

    function test_the_zero_address_is_no_auditor() external {
        Point memory key = Curve.base(77);
        _refusedAuditor(address(0), key.x, key.y);
    }

    function _one(Record memory a) private pure returns (Record[] memory all) {
        all = new Record[](1);
        all[0] = a;
    }

    function _two(Record memory a, Record memory b) private pure returns (Record[] memory all) {
        all = new Record[](2);
        (all[0], all[1]) = (a, b);
    }

    function _from(bytes memory data, uint256 start) private pure returns (bytes memory rest) {
        rest = new bytes(data.length - start);
        for (uint256 i = 0; i < rest.length; ++i) {
            rest[i] = data[start + i];
        }
    }

    function _normalize(Record memory record) private pure {
        record.reason %= 2;
        record.codec = record.codec % 2 == 0 ? 0x55 : 0x70;
    }

    /// @dev H(head || index || position || version || reason || codec || digest || timestamp)
    function _step(bytes32 head, uint64 index, Record memory record, uint64 timestamp) private pure returns (bytes32) {
        return keccak256(bytes.concat(abi.encode(head, index), abi.encode(record), abi.encode(timestamp)));
    }

    function _packed(Record memory record) private pure returns (bytes memory) {
        return abi.encodePacked(record.position, record.version, record.reason, record.codec, record.digest);
    }

    function _refused(bytes32 head, uint64 timestamp, Record[] memory records, bytes memory error_) private {
        Action memory action = certifyRecords(head, timestamp, records);
        VM.expectRevert(error_);
        archive.append(head, timestamp, records, action);
    }

    function _unknown(uint64 start, uint64 count, uint64 index) private {
        VM.expectRevert(abi.encodeWithSelector(IArchiveRegistry.UnknownRecord.selector, index, 1));
        archive.records(start, count);
    }

    function _certifyAuditor(address auditor, uint256 x, uint256 y) private returns (Action memory) {
        return certify(address(archive), IArchiveRegistry.setAuditor.selector, keccak256(abi.encode(auditor, x, y)));
    }

    function _refusedAuditor(address auditor, uint256 x, uint256 y) private {
        Action memory action = _certifyAuditor(auditor, x, y);
        VM.expectRevert(abi.encodeWithSelector(IArchiveRegistry.InvalidAuditorKey.selector, auditor));
        archive.setAuditor(auditor, x, y, action);
    }

    function _hasKey(uint256 x, uint256 y) private view {
        (uint256 keyX, uint256 keyY) = archive.auditorKey(AUDITOR);
        VM.assertEq(keyX, x);
        VM.assertEq(keyY, y);
    }
}
