// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ILiveChain, NewBlock, Publication} from "../interfaces/ILiveChain.sol";
import {Action} from "../interfaces/IQuorum.sol";
import {ChameleonHash} from "../lib/ChameleonHash.sol";
import {HeaderMetas} from "../lib/HeaderMeta.sol";
import {MerkleRoot} from "../lib/MerkleRoot.sol";
import {Position} from "../lib/Position.sol";
import {ReferenceSlots, References} from "../lib/References.sol";
import {TransactionMetas} from "../lib/TransactionMeta.sol";
import {LiveState} from "./LiveState.sol";

/// @title Appends blocks of models
abstract contract LiveAppend is LiveState {
    using ChameleonHash for ChameleonHash.Transcript;
    using References for ReferenceSlots;

    /// @inheritdoc ILiveChain
    function append(NewBlock calldata newBlock, Action calldata action) external override {
        bytes32 keyId = _execute(action, _blockDigest(newBlock, action));
        Context memory context = _context(keyId, action, 0);

        uint32 head = height;
        bytes32 parent = _headers[head].blockHash;
        if (newBlock.parentHash != parent) revert ParentMismatch(newBlock.parentHash, parent);
        uint64 earliest = _headers[head].meta.timestamp();
        uint64 latest = uint64(block.timestamp) + MAX_DRIFT;
        // The committee chooses the time; the clock only bounds it by MAX_DRIFT.
        // slither-disable-next-line timestamp
        if (newBlock.timestamp < earliest || newBlock.timestamp > latest) {
            revert TimestampOutOfRange(newBlock.timestamp, earliest, latest);
        }

        uint32 newHeight = head + 1;
        bytes32 root = _publish(context, newHeight, newBlock.publications);
        _appendHeader(context, newHeight, root, newBlock);
        height = newHeight;
    }

    /// @dev Stores the models of the block at `newHeight` and returns the root over their `ch`.
    function _publish(Context memory context, uint32 newHeight, Publication[] calldata publications)
        private
        returns (bytes32)
    {
        uint256 count = publications.length;
        if (count == 0 || count > MAX_BLOCK_TRANSACTIONS) revert InvalidBlockSize(count, MAX_BLOCK_TRANSACTIONS);
        bytes32[] memory nodes = new bytes32[](2 * count - 1);
        for (uint256 i = 0; i < count; ++i) {
            uint256 position = Position.pack(newHeight, uint32(i));
            nodes[i] = MerkleRoot.leaf(position, _publishTransaction(context, position, publications[i]));
        }
        return MerkleRoot.root(nodes);
    }

    /// @dev Stores one model. The words of `publication` are compared whole.
    function _publishTransaction(Context memory context, uint256 position, Publication calldata publication)
        private
        returns (uint256 ch)
    {
        uint64[] calldata references = publication.references;
        uint256 px;
        uint256 s;
        bytes32 uri;
        uint256 codec;
        uint256 owner;
        assembly ("memory-safe") {
            ch := calldataload(publication)
            px := calldataload(add(publication, 0x20))
            s := calldataload(add(publication, 0x40))
            uri := calldataload(add(publication, 0x60))
            codec := calldataload(add(publication, 0x80))
            owner := calldataload(add(publication, 0xa0))
        }
        if (codec != CODEC_RAW && codec != CODEC_DAG_PB) revert UnknownCodec(uint8(codec));
        unchecked {
            // 0 < owner < 2^160; subtraction takes 0 to 2^256 - 1
            if (owner - 1 >= type(uint160).max) revert OwnerMissing(uint64(position));
        }
        uint256 packed = _packReferences(position, references);
        bytes32 payload = _payload(uri, codec, owner, References.hash(references));
        if (!context.words.opens(position, 0, payload, ch, px, s)) revert InvalidOpening(uint64(position), 0);

        TransactionSlots storage slots = _transactions[position];
        slots.ch = ch;
        slots.uri = uri;
        slots.px = px;
        slots.s = s;
        slots.meta = TransactionMetas.pack(owner, 0, codec, context.stamp);
        slots.refs.store(packed, references);
        _emitPublished(position, owner, uri, codec, references);
    }

    /// @dev emit ModelPublished(position, owner, uri, codec, references), the list copied as it came: its
    /// words were checked one by one.
    function _emitPublished(uint256 position, uint256 owner, bytes32 uri, uint256 codec, uint64[] calldata references)
        private
    {
        bytes32 topic = ModelPublished.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            let size := shl(5, references.length)
            mstore(data, uri)
            mstore(add(data, 0x20), codec)
            mstore(add(data, 0x40), 0x60)
            mstore(add(data, 0x60), references.length)
            calldatacopy(add(data, 0x80), references.offset, size)
            log3(data, add(0x80, size), topic, position, owner)
        }
    }

    function _appendHeader(Context memory context, uint32 newHeight, bytes32 root, NewBlock calldata newBlock) private {
        uint64 timestamp = newBlock.timestamp;
        uint32 count = uint32(newBlock.publications.length);
        bytes32 parent = newBlock.parentHash;
        uint256 ch = newBlock.ch;
        uint256 px = newBlock.opening.px;
        uint256 s = newBlock.opening.s;
        // payload = H(parentHash || merkleRoot || timestamp || txCount)
        bytes32 payload = keccak256(abi.encode(parent, root, timestamp, count));
        _requireOpening(context.words, Position.ofHeader(newHeight), 0, payload, ch, px, s);

        HeaderSlots storage slots = _headers[newHeight];
        // blockHash = H(parentHash || ch || merkleRoot || timestamp)
        bytes32 hash = keccak256(abi.encode(parent, ch, root, timestamp));
        slots.blockHash = hash;
        slots.ch = ch;
        slots.px = px;
        slots.s = s;
        slots.merkleRoot = root;
        slots.meta = HeaderMetas.pack(timestamp, count, 0, context.epoch);
        emit BlockAppended(newHeight, hash, root, count, context.epoch);
    }

    /// @dev Checks that each reference is above the one before and to a model in an earlier block, and
    /// packs the list for its slot. Words are compared whole: bits beyond 64 are no height of a block.
    function _packReferences(uint256 position, uint64[] calldata list) private view returns (uint256 packed) {
        uint256 previous = 0;
        uint256 count = 0;
        unchecked {
            for (uint256 i = 0; i < list.length; ++i) {
                uint256 referenced;
                assembly ("memory-safe") {
                    referenced := calldataload(add(list.offset, shl(5, i)))
                }
                if (referenced <= previous) revert ReferencesNotAscending(uint64(position), uint64(referenced));
                // A block at or above the head's height has no header: txCount = 0.
                if ((referenced ^ previous) >> 32 != 0) count = _headers[referenced >> 32].meta.txCount();
                if (uint32(referenced) >= count) revert UnknownReference(uint64(position), uint64(referenced));
                packed |= referenced << (64 * i);
                previous = referenced;
            }
        }
        return References.seal(packed, list.length);
    }

    /// @dev H(abi.encode(newBlock)), hashed as it came: the word 0x20, then the encoding, which ends where
    /// that of `action` begins. Every value of `newBlock` is read through these certified bytes, so
    /// calldata in any other order of encoding is refused as NotCertified.
    function _blockDigest(NewBlock calldata newBlock, Action calldata action) private pure returns (bytes32 digest) {
        assembly ("memory-safe") {
            let words := mload(0x40)
            let size := mul(sub(action, newBlock), lt(newBlock, action))
            mstore(words, 0x20)
            calldatacopy(add(words, 0x20), newBlock, size)
            digest := keccak256(words, add(0x20, size))
        }
    }
}
