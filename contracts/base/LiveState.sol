// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Header, ILiveChain, ModelTransaction} from "../interfaces/ILiveChain.sol";
import {Action, IQuorum} from "../interfaces/IQuorum.sol";
import {BlockCode, BlockFields, ModelFields} from "../lib/BlockCode.sol";
import {ChameleonHash, Transcript} from "../lib/ChameleonHash.sol";
import {CreatedCode} from "../lib/CreatedCode.sol";
import {Entries, Entry} from "../lib/Entry.sol";
import {Position} from "../lib/Position.sol";
import {Certified} from "./Certified.sol";

/// @title Storage and views of the live chain
/// @dev The constant parts of a block are code (BlockCode); entries and URIs change. A first opening follows from its
/// content; each later one is in the event of its redaction: docs/explanation/gas-and-layout.md.
abstract contract LiveState is ILiveChain, Certified {
    /// @dev Values shared by the steps of one action.
    struct Context {
        Transcript words;
        bytes32 proposal;
        uint256 epoch;
        uint256 batch;
    }

    uint256 internal constant CODEC_RAW = 0x55;
    uint256 internal constant CODEC_DAG_PB = 0x70;

    /// @inheritdoc ILiveChain
    uint256 public constant override MAX_BLOCK_TRANSACTIONS = 128;
    /// @inheritdoc ILiveChain
    uint64 public constant override MAX_DRIFT = 15 minutes;

    /// @inheritdoc ILiveChain
    uint32 public override height;
    /// @dev Time of the newest block.
    uint64 internal _latest;
    uint24 internal _batches;

    /// @dev Hash of the newest block.
    bytes32 internal _head;

    mapping(uint256 key => uint256) internal _entries;
    mapping(uint256 position => bytes32) internal _uris;
    mapping(bytes32 proposal => uint24) internal _batchOf;
    mapping(uint24 batch => bytes32) internal _proposalOf;

    constructor(IQuorum quorum_) Certified(quorum_) {
        // blockHash(0) = H(chainid || this)
        _head = keccak256(abi.encode(block.chainid, address(this)));
    }

    /// @inheritdoc ILiveChain
    function transactions(uint64[] calldata positions) external view override returns (ModelTransaction[] memory list) {
        list = new ModelTransaction[](positions.length);
        for (uint256 i = 0; i < positions.length; ++i) {
            list[i] = transaction(positions[i]);
        }
    }

    /// @inheritdoc ILiveChain
    function header(uint32 height_) external view override returns (Header memory found) {
        if (height_ > height) revert UnknownPosition(Position.ofHeader(height_));
        if (height_ == 0) return found;
        Entry entry = _entry(height_, 0);
        BlockFields memory fields = BlockCode.header(CreatedCode.locate(height_));
        return Header({
            parentHash: fields.parentHash,
            ch: fields.ch,
            version: uint32(entry.version()),
            epoch: uint64(entry.epoch()),
            merkleRoot: fields.merkleRoot,
            timestamp: fields.timestamp,
            txCount: uint32(entry.models())
        });
    }

    /// @inheritdoc ILiveChain
    function transaction(uint64 position) public view override returns (ModelTransaction memory) {
        uint32 height_ = Position.height(position);
        uint256 index = Position.index(position);
        uint256 count = _entry(height_, 0).models();
        if (index >= count) revert UnknownPosition(position);
        Entry entry = _entry(height_, index + 1);
        address code = CreatedCode.locate(height_);
        // Memory starts as zeros; `read` fills it.
        // slither-disable-next-line uninitialized-local
        ModelFields memory fields;
        BlockCode.read(code, index, fields);
        return ModelTransaction({
            ch: fields.ch,
            uri: _uris[position],
            codec: entry.codec(),
            version: uint32(entry.version()),
            epoch: uint64(entry.epoch()),
            owner: fields.owner,
            settled: _isSettled(uint24(entry.batch())),
            references: BlockCode.referencesOf(code, count, fields)
        });
    }

    /// @inheritdoc ILiveChain
    function blockHash(uint32 height_) public view override returns (bytes32) {
        if (height_ > height) revert UnknownPosition(Position.ofHeader(height_));
        if (height_ == height) return _head;
        return BlockCode.header(CreatedCode.locate(uint256(height_) + 1)).parentHash;
    }

    function _context(bytes32 keyId, Action calldata action) internal view returns (Context memory context) {
        context.epoch = action.certificate.epoch;
        if (context.epoch >= Entries.LIMIT) revert CounterExhausted();
        context.words = ChameleonHash.transcript(keyId);
        context.proposal = action.certificate.proposal;
    }

    /// @dev payload = H(uri || codec || owner || referencesHash)
    function _payload(bytes32 uri, uint256 codec, uint256 owner, bytes32 referencesHash)
        internal
        pure
        returns (bytes32 payload)
    {
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, uri)
            mstore(add(words, 0x20), codec)
            mstore(add(words, 0x40), owner)
            mstore(add(words, 0x60), referencesHash)
            payload := keccak256(words, 0x80)
        }
    }

    /// @dev payload = H(parentHash || merkleRoot || timestamp || txCount)
    function _headerPayload(bytes32 parentHash, bytes32 root, uint256 time, uint256 count)
        internal
        pure
        returns (bytes32 payload)
    {
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, parentHash)
            mstore(add(words, 0x20), root)
            mstore(add(words, 0x40), time)
            mstore(add(words, 0x60), count)
            payload := keccak256(words, 0x80)
        }
    }

    function _entry(uint256 height_, uint256 number) private view returns (Entry) {
        return Entries.at(_entries[Entries.key(height_, number)], number);
    }

    function _isSettled(uint24 batch) private view returns (bool) {
        if (batch == 0) return true;
        (uint32 done, uint32 chunks) = progress(_proposalOf[batch]);
        return done == chunks;
    }
}
