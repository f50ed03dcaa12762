// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certified} from "./base/Certified.sol";
import {IArchiveRegistry, Record, StoredRecord} from "./interfaces/IArchiveRegistry.sol";
import {Action, IQuorum} from "./interfaces/IQuorum.sol";
import {RecordCode} from "./lib/RecordCode.sol";
import {Secp256k1} from "./lib/Secp256k1.sol";

/// @title Append-only, hash-chained history for auditors
/// @dev The records of each transaction are code (RecordCode); the contract creates nothing else.
contract ArchiveRegistry is IArchiveRegistry, Certified {
    using RecordCode for RecordCode.Draft;

    struct AuditorKey {
        uint256 x;
        uint256 y;
    }

    uint256 private constant LAST_REASON = 1;
    uint256 private constant CODEC_RAW = 0x55;
    uint256 private constant CODEC_DAG_PB = 0x70;

    /// @inheritdoc IArchiveRegistry
    uint64 public constant override MAX_DRIFT = 15 minutes;

    /// @inheritdoc IArchiveRegistry
    uint64 public override length;
    uint64 private _latest;
    /// @dev Number of the newest code; the first is 1.
    uint64 private _codes;
    /// @inheritdoc IArchiveRegistry
    bytes32 public override head;

    mapping(address auditor => AuditorKey) private _auditors;

    constructor(IQuorum quorum_) Certified(quorum_) {
        // head(0) = H(chainid || this)
        head = keccak256(abi.encode(block.chainid, address(this)));
    }

    /// @inheritdoc IArchiveRegistry
    function records(uint64 start, uint64 count) external view override returns (StoredRecord[] memory list) {
        if (uint256(start) + count > length) revert UnknownRecord(start > length ? start : length, length);
        list = new StoredRecord[](count);
        if (count == 0) return list;
        uint256 number = _codeOf(start);
        uint256 filled = 0;
        while (filled < count) {
            (uint64 time, uint256 size) = RecordCode.header(number);
            for (uint256 i = start + filled - RecordCode.firstOf(number); i < size && filled < count; ++i) {
                list[filled++] = StoredRecord(RecordCode.read(number, i), time);
            }
            ++number;
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
        _executeUncounted(action, _recordsDigest(newRecords, action));
        if (action.chunk == 0) emit RecordsCertified(action.certificate.proposal, action.certificate);
        bytes32 link = head;
        if (expectedHead != link) revert HeadMismatch(expectedHead, link);
        uint256 count = newRecords.length;
        if (count == 0) revert NothingToArchive();
        if (count > RecordCode.MAX_RECORDS) revert TooManyRecords(count, RecordCode.MAX_RECORDS);
        uint64 limit = uint64(block.timestamp) + MAX_DRIFT;
        // The committee chooses the time; the clock only bounds it by MAX_DRIFT.
        // slither-disable-next-line timestamp
        if (timestamp < _latest || timestamp > limit) revert TimestampOutOfRange(timestamp, _latest, limit);

        head = _store(link, length, timestamp, newRecords);
        length += uint64(count);
        _latest = timestamp;
        ++_codes;
        // Archived, and RecordsCertified.
        _logged(action.chunk == 0 ? 2 : 1);
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

    /// @dev Stores and logs the records from index `first` on; returns the head after the last one.
    /// head(n + 1) = H(head(n) || n || position || version || reason || codec || digest || timestamp)
    function _store(bytes32 link, uint256 first, uint256 timestamp, Record[] calldata newRecords)
        private
        returns (bytes32)
    {
        RecordCode.Draft memory draft = RecordCode.draft(newRecords.length, first, timestamp);
        uint256[8] memory words;
        words[7] = timestamp;
        for (uint256 i = 0; i < newRecords.length; ++i) {
            Record calldata record = newRecords[i];
            assembly ("memory-safe") {
                mstore(words, link)
                mstore(add(words, 0x20), add(first, i))
                calldatacopy(add(words, 0x40), record, 0xa0)
                link := keccak256(words, 0x100)
            }
            (uint256 position, uint256 version, uint256 reason, uint256 codec) =
                (words[2], words[3], words[4], words[5]);
            if (position > type(uint64).max || version > type(uint32).max) revert CalldataNotCanonical();
            if (reason > LAST_REASON) revert UnknownReason(uint8(reason));
            if (codec != CODEC_RAW && codec != CODEC_DAG_PB) revert UnknownCodec(uint8(codec));
            draft.write(i, position, version, reason, codec, bytes32(words[6]));
        }
        if (draft.create() == address(0)) revert RecordsNotStored();
        draft.log(Archived.selector, first, timestamp, link);
        return link;
    }

    /// @dev Number of the code that holds record `index`, the last one that starts at it or before.
    /// Pre: index < length.
    function _codeOf(uint256 index) private view returns (uint256) {
        uint256 low = 1;
        uint256 high = _codes;
        while (low < high) {
            uint256 middle = (low + high + 1) / 2;
            if (RecordCode.firstOf(middle) > index) high = middle - 1;
            else low = middle;
        }
        return low;
    }

    /// @dev H(abi.encode(expectedHead, timestamp, newRecords)) over the calldata: records have 5 words each.
    function _recordsDigest(Record[] calldata newRecords, Action calldata action)
        private
        pure
        returns (bytes32 digest)
    {
        uint256 end;
        bool canonical;
        assembly ("memory-safe") {
            end := add(newRecords.offset, mul(newRecords.length, 0xa0))
            // The selector, two arguments and the offsets of two more come first; the list starts with its length.
            canonical := eq(newRecords.offset, 0xa4)
        }
        if (!canonical) revert CalldataNotCanonical();
        _requireCanonicalEnd(action, end);
        assembly ("memory-safe") {
            let words := mload(0x40)
            calldatacopy(words, 0x04, 0x40)
            mstore(add(words, 0x40), 0x60)
            calldatacopy(add(words, 0x60), 0x84, sub(end, 0x84))
            digest := keccak256(words, sub(end, 0x24))
        }
    }
}
