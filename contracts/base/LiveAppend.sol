// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ILiveChain, NewBlock, Publication} from "../interfaces/ILiveChain.sol";
import {Action} from "../interfaces/IQuorum.sol";
import {BlockCode, BlockFields} from "../lib/BlockCode.sol";
import {CreatedCode} from "../lib/CreatedCode.sol";
import {Entries, Entry} from "../lib/Entry.sol";
import {MerkleRoot} from "../lib/MerkleRoot.sol";
import {Position} from "../lib/Position.sol";
import {LiveState} from "./LiveState.sol";

/// @title Appends blocks of models
abstract contract LiveAppend is LiveState {
    using BlockCode for BlockCode.Draft;

    /// @inheritdoc ILiveChain
    function append(NewBlock calldata newBlock, Action calldata action) external override {
        bytes32 keyId = _executeUncounted(action, _blockDigest(newBlock, action));
        Context memory context = _context(keyId, action);

        bytes32 parent = _head;
        if (newBlock.parentHash != parent) revert ParentMismatch(newBlock.parentHash, parent);
        uint64 earliest = _latest;
        uint64 latest = uint64(block.timestamp) + MAX_DRIFT;
        // The committee chooses the time; the clock only bounds it by MAX_DRIFT.
        // slither-disable-next-line timestamp
        if (newBlock.timestamp < earliest || newBlock.timestamp > latest) {
            revert TimestampOutOfRange(newBlock.timestamp, earliest, latest);
        }

        uint32 newHeight = height + 1;
        height = newHeight;
        _latest = newBlock.timestamp;
        // ModelPublished for each model, and BlockAppended.
        _logged(newBlock.publications.length + 1);
        BlockCode.Draft memory draft = _draft(newBlock.publications);
        bytes32 root = _publish(context, newHeight, newBlock.publications, draft);
        _head = _appendHeader(context, newHeight, root, newBlock, draft);
    }

    /// @dev Allocates memory for the block's code.
    function _draft(Publication[] calldata publications) private pure returns (BlockCode.Draft memory) {
        uint256 count = publications.length;
        if (count == 0 || count > MAX_BLOCK_TRANSACTIONS) revert InvalidBlockSize(count, MAX_BLOCK_TRANSACTIONS);
        uint256 references = 0;
        for (uint256 i = 0; i < count; ++i) {
            references += publications[i].references.length;
        }
        uint256 size = BlockCode.sizeOf(count, references);
        if (size > CreatedCode.MAX_SIZE) revert BlockTooLong(size, CreatedCode.MAX_SIZE);
        return BlockCode.draft(count, references);
    }

    /// @dev Writes the models of the block at `newHeight` and returns the root over their `ch`.
    function _publish(
        Context memory context,
        uint256 newHeight,
        Publication[] calldata publications,
        BlockCode.Draft memory draft
    ) private returns (bytes32) {
        uint256 count = publications.length;
        bytes32[] memory nodes = new bytes32[](2 * count - 1);
        uint256 slot = Entry.unwrap(Entries.ofHeader(0, context.epoch, count));
        for (uint256 i = 0; i < count; ++i) {
            uint256 position = (newHeight << 32) | i;
            (uint256 ch, uint256 codec) = _publishTransaction(context, position, publications[i], draft);
            nodes[i] = MerkleRoot.leaf(position, ch);
            slot = Entries.put(slot, i + 1, Entries.ofModel(0, context.epoch, codec, 0));
            // The last entry of a slot, or of the block.
            if ((i + 1) & 3 == 3 || i + 1 == count) {
                _entries[Entries.key(newHeight, i + 1)] = slot;
                slot = 0;
            }
        }
        return MerkleRoot.root(nodes);
    }

    /// @dev Writes one model. Compares whole words of `publication`.
    function _publishTransaction(
        Context memory context,
        uint256 position,
        Publication calldata publication,
        BlockCode.Draft memory draft
    ) private returns (uint256 ch, uint256 codec) {
        uint64[] calldata references = publication.references;
        uint256 px;
        uint256 s;
        bytes32 uri;
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
            // 0 < owner < 2^160; subtraction maps 0 to 2^256 - 1
            if (owner - 1 >= type(uint160).max) revert OwnerMissing(uint64(position));
        }
        _checkReferences(position, references);
        bytes32 payload = _payload(uri, codec, owner, _hash(references));
        if (!context.words.opensFirst(position, payload, ch, px, s)) revert InvalidOpening(uint64(position), 0);

        draft.write(uint32(position), ch, owner, references);
        _uris[position] = uri;
        _emitPublished(position, owner, uri, codec, references);
    }

    /// @dev emit ModelPublished(position, owner, uri, codec, references). Copies the list unchanged, since its words
    /// were checked one by one.
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

    /// @dev Stores the block's code and returns the block's hash.
    function _appendHeader(
        Context memory context,
        uint32 newHeight,
        bytes32 root,
        NewBlock calldata newBlock,
        BlockCode.Draft memory draft
    ) private returns (bytes32 hash) {
        uint64 timestamp = newBlock.timestamp;
        uint32 count = uint32(newBlock.publications.length);
        BlockFields memory fields = BlockFields(newBlock.parentHash, newBlock.ch, root, timestamp);
        bytes32 payload = _headerPayload(fields.parentHash, root, timestamp, count);
        uint64 place = Position.ofHeader(newHeight);
        if (!context.words.opensFirst(place, payload, fields.ch, newBlock.opening.px, newBlock.opening.s)) {
            revert InvalidOpening(place, 0);
        }
        if (draft.create(fields) == address(0)) revert BlockNotStored();
        // blockHash = H(parentHash || ch || merkleRoot || timestamp)
        hash = keccak256(abi.encode(fields.parentHash, fields.ch, root, timestamp));
        emit BlockAppended(newHeight, context.proposal, hash, root, count, uint64(context.epoch));
    }

    /// @dev Checks that each reference is above the previous one and names a model in an earlier block. Compares whole
    /// words, since bits beyond 64 cannot be part of a height.
    function _checkReferences(uint256 position, uint64[] calldata list) private view {
        uint256 previous = 0;
        uint256 count = 0;
        uint256 newHeight = position >> 32;
        unchecked {
            for (uint256 i = 0; i < list.length; ++i) {
                uint256 referenced;
                assembly ("memory-safe") {
                    referenced := calldataload(add(list.offset, shl(5, i)))
                }
                if (referenced <= previous) revert ReferencesNotAscending(uint64(position), uint64(referenced));
                if ((referenced ^ previous) >> 32 != 0) {
                    uint256 referencedHeight = referenced >> 32;
                    count = referencedHeight < newHeight
                        ? Entries.at(_entries[Entries.key(referencedHeight, 0)], 0).models()
                        : 0;
                }
                if (uint32(referenced) >= count) revert UnknownReference(uint64(position), uint64(referenced));
                previous = referenced;
            }
        }
    }

    /// @dev referencesHash = H(reference_0 || reference_1 || ...), words of 32 bytes.
    function _hash(uint64[] calldata list) private pure returns (bytes32 digest) {
        assembly ("memory-safe") {
            let words := mload(0x40)
            let size := shl(5, list.length)
            calldatacopy(words, list.offset, size)
            digest := keccak256(words, size)
        }
    }

    /// @dev H(abi.encode(newBlock)) over the calldata: the word 0x20, then the encoding up to the start of `action`.
    /// Every value of `newBlock` is read through these certified bytes, so another order of encoding is refused as
    /// NotCertified.
    function _blockDigest(NewBlock calldata newBlock, Action calldata action) private pure returns (bytes32 digest) {
        uint256 start;
        uint256 end;
        assembly ("memory-safe") {
            start := newBlock
            end := action
        }
        // The selector and the offsets of two arguments come first.
        if (start != 0x44 || end < start) revert CalldataNotCanonical();
        _requireCanonicalEnd(action, end);
        assembly ("memory-safe") {
            let words := mload(0x40)
            let size := sub(end, start)
            mstore(words, 0x20)
            calldatacopy(add(words, 0x20), start, size)
            digest := keccak256(words, add(0x20, size))
        }
    }
}
