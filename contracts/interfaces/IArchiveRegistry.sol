// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {Action, Certificate} from "./IQuorum.sol";

/// @notice The archive's record of one version of a model.
struct Record {
    /// Packed position on the live chain.
    uint64 position;
    uint32 version;
    /// 0 published, 1 superseded (archived again before its replacement).
    uint8 reason;
    /// sha2-256 digest and codec of the CIDv1 of the archived copy.
    uint8 codec;
    bytes32 digest;
}

/// @notice A stored record, with the time at which the committee archived it.
struct StoredRecord {
    Record record;
    uint64 timestamp;
}

/// @title Append-only, hash-chained history for auditors (the paper, section V-A)
/// @notice `head(n + 1) = keccak256(abi.encode(head(n), n, position, version, reason, codec, digest, timestamp))`
/// and `head(0) = keccak256(abi.encode(chainid, this))`.
interface IArchiveRegistry is ICertified {
    /// @notice The records of one transaction, from index `first` on, and the head after the last one.
    /// @dev Each record takes 46 bytes: position 8, version 4, reason 1, codec 1, digest 32.
    event Archived(uint64 indexed first, uint64 timestamp, bytes32 head, bytes records);
    /// @notice The certificate of a proposal, emitted with its first chunk: evidence of the decision, whoever the
    /// caller is. It also covers the proposal's actions on the live chain.
    event RecordsCertified(bytes32 indexed proposal, Certificate certificate);
    event AuditorRegistered(address indexed auditor, uint256 keyX, uint256 keyY);
    event AuditorRemoved(address indexed auditor);

    /// @notice The registry has grown since the decision.
    error HeadMismatch(bytes32 given, bytes32 head);
    error NothingToArchive();
    /// @notice More records than one transaction can store.
    error TooManyRecords(uint256 given, uint256 maximum);
    /// @notice The gas did not suffice to store the records.
    error RecordsNotStored();
    error UnknownReason(uint8 reason);
    error UnknownCodec(uint8 codec);
    error TimestampOutOfRange(uint64 given, uint64 earliest, uint64 latest);
    error UnknownRecord(uint64 index, uint64 length);
    error InvalidAuditorKey(address auditor);

    /// @notice Maximum seconds that a record's time may be ahead of the chain's clock.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_DRIFT() external view returns (uint64);
    /// @notice Number of records.
    function length() external view returns (uint64);
    /// @notice Head of the hash chain.
    function head() external view returns (bytes32);
    /// @notice Records `start` to `start + count - 1`. Reverts with UnknownRecord.
    function records(uint64 start, uint64 count) external view returns (StoredRecord[] memory);
    /// @notice An auditor's encryption key; (0, 0) if not registered.
    function auditorKey(address auditor) external view returns (uint256 keyX, uint256 keyY);

    /// @notice Appends records (one chunk of the proposal).
    /// @dev Digest of the action: `keccak256(abi.encode(expectedHead, timestamp, newRecords))`. For every chunk after
    /// the first, `expectedHead` is the head after the previous chunk. Emits Archived, RecordsCertified with the first
    /// chunk, and ChunkExecuted if there are several chunks. All or nothing.
    function append(bytes32 expectedHead, uint64 timestamp, Record[] calldata newRecords, Action calldata action)
        external;

    /// @notice Registers or replaces an auditor's key; a key of (0, 0) removes the auditor.
    /// @dev Digest of the action: `keccak256(abi.encode(auditor, keyX, keyY))`.
    function setAuditor(address auditor, uint256 keyX, uint256 keyY, Action calldata action) external;
}
