// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Header, ILiveChain, ModelTransaction, Opening} from "../interfaces/ILiveChain.sol";
import {Action, IQuorum} from "../interfaces/IQuorum.sol";
import {ChameleonHash} from "../lib/ChameleonHash.sol";
import {HeaderMeta} from "../lib/HeaderMeta.sol";
import {Position} from "../lib/Position.sol";
import {ReferenceSlots, References} from "../lib/References.sol";
import {TransactionMeta, TransactionMetas} from "../lib/TransactionMeta.sol";
import {Certified} from "./Certified.sol";

/// @title Storage and views of the live chain
abstract contract LiveState is ILiveChain, Certified {
    using ChameleonHash for ChameleonHash.Transcript;
    using References for ReferenceSlots;

    /// @dev Five slots and those of the references. `ch` and `refs` are written once.
    struct TransactionSlots {
        uint256 ch;
        bytes32 uri;
        uint256 px;
        uint256 s;
        TransactionMeta meta;
        ReferenceSlots refs;
    }

    /// @dev Six slots. `blockHash`, `ch`, `merkleRoot` and the time and count in `meta` are written once;
    /// the parent's hash is that of the header before.
    struct HeaderSlots {
        bytes32 blockHash;
        uint256 ch;
        uint256 px;
        uint256 s;
        bytes32 merkleRoot;
        HeaderMeta meta;
    }

    /// @dev Values shared by the steps of one action.
    struct Context {
        ChameleonHash.Transcript words;
        uint32 epoch;
        uint256 stamp;
    }

    uint8 internal constant CODEC_RAW = 0x55;
    uint8 internal constant CODEC_DAG_PB = 0x70;

    /// @inheritdoc ILiveChain
    uint256 public constant override MAX_BLOCK_TRANSACTIONS = 128;
    /// @inheritdoc ILiveChain
    uint64 public constant override MAX_DRIFT = 15 minutes;

    /// @inheritdoc ILiveChain
    uint32 public override height;
    uint24 internal _batches;

    mapping(uint256 height => HeaderSlots) internal _headers;
    mapping(uint256 position => TransactionSlots) internal _transactions;
    mapping(bytes32 proposal => uint24) internal _batchOf;
    mapping(uint24 batch => bytes32) internal _proposalOf;

    constructor(IQuorum quorum_) Certified(quorum_) {
        // blockHash(0) = H(chainid || this)
        _headers[0].blockHash = keccak256(abi.encode(block.chainid, address(this)));
    }

    /// @inheritdoc ILiveChain
    function transactions(uint64[] calldata positions) external view override returns (ModelTransaction[] memory list) {
        list = new ModelTransaction[](positions.length);
        for (uint256 i = 0; i < positions.length; ++i) {
            list[i] = transaction(positions[i]);
        }
    }

    /// @inheritdoc ILiveChain
    function header(uint32 height_) external view override returns (Header memory) {
        if (height_ > height) revert UnknownPosition(Position.ofHeader(height_));
        HeaderSlots storage slots = _headers[height_];
        HeaderMeta meta = slots.meta;
        return Header({
            parentHash: height_ == 0 ? bytes32(0) : _headers[height_ - 1].blockHash,
            ch: slots.ch,
            opening: Opening(slots.px, slots.s),
            version: meta.version(),
            epoch: meta.epoch(),
            merkleRoot: slots.merkleRoot,
            timestamp: meta.timestamp(),
            txCount: meta.txCount()
        });
    }

    /// @inheritdoc ILiveChain
    function transaction(uint64 position) public view override returns (ModelTransaction memory) {
        TransactionSlots storage slots = _transactions[position];
        TransactionMeta meta = slots.meta;
        if (meta.owner() == address(0)) revert UnknownPosition(position);
        return ModelTransaction({
            ch: slots.ch,
            opening: Opening(slots.px, slots.s),
            uri: slots.uri,
            codec: meta.codec(),
            version: meta.version(),
            epoch: meta.epoch(),
            owner: meta.owner(),
            settled: _isSettled(meta.batch()),
            references: slots.refs.load()
        });
    }

    /// @inheritdoc ILiveChain
    function blockHash(uint32 height_) public view override returns (bytes32) {
        if (height_ > height) revert UnknownPosition(Position.ofHeader(height_));
        return _headers[height_].blockHash;
    }

    function _context(bytes32 keyId, Action calldata action, uint24 batch) internal view returns (Context memory) {
        // An epoch is counted one by one: below 2^32.
        uint32 epoch = uint32(action.certificate.epoch);
        return Context(ChameleonHash.transcript(keyId), epoch, TransactionMetas.stamp(epoch, batch));
    }

    function _isSettled(uint24 batch) private view returns (bool) {
        if (batch == 0) return true;
        (uint32 done, uint32 chunks) = progress(_proposalOf[batch]);
        return done == chunks;
    }

    function _requireOpening(
        ChameleonHash.Transcript memory words,
        uint64 position,
        uint32 version,
        bytes32 payload,
        uint256 ch,
        uint256 px,
        uint256 s
    ) internal view {
        if (!words.opens(position, version, payload, ch, px, s)) {
            revert InvalidOpening(position, version);
        }
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
}
