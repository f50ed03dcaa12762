// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certified} from "./base/Certified.sol";
import {IArchiveRegistry, Record, StoredRecord} from "./interfaces/IArchiveRegistry.sol";
import {Action, IQuorum} from "./interfaces/IQuorum.sol";
import {Secp256k1} from "./lib/Secp256k1.sol";

/// @title Append-only, hash-chained history for auditors
contract ArchiveRegistry is IArchiveRegistry, Certified {
    /// @dev Two slots: position 64 | version 32 | reason 8 | codec 8 | timestamp 64, and the digest.
    struct Slots {
        uint64 position;
        uint32 version;
        uint8 reason;
        uint8 codec;
        uint64 timestamp;
        bytes32 digest;
    }

    struct AuditorKey {
        uint256 x;
        uint256 y;
    }

    uint8 private constant LAST_REASON = 1;
    uint8 private constant CODEC_RAW = 0x55;
    uint8 private constant CODEC_DAG_PB = 0x70;

    /// @inheritdoc IArchiveRegistry
    uint64 public constant override MAX_DRIFT = 15 minutes;

    /// @inheritdoc IArchiveRegistry
    uint64 public override length;
    uint64 private _latest;
    /// @inheritdoc IArchiveRegistry
    bytes32 public override head;

    mapping(uint64 index => Slots) private _records;
    mapping(address auditor => AuditorKey) private _auditors;

    constructor(IQuorum quorum_) Certified(quorum_) {
        // head(0) = H(chainid || this)
        head = keccak256(abi.encode(block.chainid, address(this)));
    }

    /// @inheritdoc IArchiveRegistry
    function records(uint64 start, uint64 count) external view override returns (StoredRecord[] memory list) {
        if (uint256(start) + count > length) revert UnknownRecord(start > length ? start : length, length);
        list = new StoredRecord[](count);
        for (uint64 i = 0; i < count; ++i) {
            Slots storage slots = _records[start + i];
            Record memory record = Record(slots.position, slots.version, slots.reason, slots.codec, slots.digest);
            list[i] = StoredRecord(record, slots.timestamp);
        }
    }

    /// @inheritdoc IArchiveRegistry
    function auditorKey(address auditor) external view override returns (uint256 keyX, uint256 keyY) {
        AuditorKey storage key = _auditors[auditor];
        return (key.x, key.y);
    }

    /// @inheritdoc IArchiveRegistry
    function append(bytes32 expectedHead, uint64 timestamp, Record[] calldata newRecords, Action calldata action)
        external
        override
    {
        _requireCanonical(abi.encodeCall(this.append, (expectedHead, timestamp, newRecords, action)));
        _execute(action, keccak256(abi.encode(expectedHead, timestamp, newRecords)));
        if (action.chunk == 0) emit RecordsCertified(action.certificate.proposal, action.certificate);
        bytes32 link = head;
        if (expectedHead != link) revert HeadMismatch(expectedHead, link);
        if (newRecords.length == 0) revert NothingToArchive();
        uint64 limit = uint64(block.timestamp) + MAX_DRIFT;
        // The committee chooses the time; the clock only bounds it by MAX_DRIFT.
        // slither-disable-next-line timestamp
        if (timestamp < _latest || timestamp > limit) revert TimestampOutOfRange(timestamp, _latest, limit);

        uint64 index = length;
        for (uint256 i = 0; i < newRecords.length; ++i) {
            link = _store(link, index, newRecords[i], timestamp);
            ++index;
        }
        head = link;
        length = index;
        _latest = timestamp;
        _logged(newRecords.length + (action.chunk == 0 ? 1 : 0));
    }

    /// @inheritdoc IArchiveRegistry
    function setAuditor(address auditor, uint256 keyX, uint256 keyY, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.setAuditor, (auditor, keyX, keyY, action)));
        _execute(action, keccak256(abi.encode(auditor, keyX, keyY)));
        bool removed = keyX == 0 && keyY == 0;
        if (auditor == address(0) || !(removed || Secp256k1.isOnCurve(keyX, keyY))) revert InvalidAuditorKey(auditor);
        _auditors[auditor] = AuditorKey(keyX, keyY);
        if (removed) emit AuditorRemoved(auditor);
        else emit AuditorRegistered(auditor, keyX, keyY);
        _logged(1);
    }

    /// @dev head(n + 1) = H(head(n) || n || position || version || reason || codec || digest || timestamp)
    function _store(bytes32 link, uint64 index, Record calldata record, uint64 timestamp)
        private
        returns (bytes32 next)
    {
        if (record.reason > LAST_REASON) revert UnknownReason(record.reason);
        if (record.codec != CODEC_RAW && record.codec != CODEC_DAG_PB) revert UnknownCodec(record.codec);
        next = keccak256(
            abi.encode(
                link, index, record.position, record.version, record.reason, record.codec, record.digest, timestamp
            )
        );
        _records[index] = Slots(record.position, record.version, record.reason, record.codec, timestamp, record.digest);
        emit Archived(
            index, record.position, record.version, record.reason, record.codec, record.digest, timestamp, next
        );
    }
}
