// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {LiveState} from "../../contracts/base/LiveState.sol";
import {HeaderUpdate, NewBlock, Opening, Publication, Update} from "../../contracts/interfaces/ILiveChain.sol";
import {Action, IQuorum} from "../../contracts/interfaces/IQuorum.sol";
import {ChameleonHash} from "../../contracts/lib/ChameleonHash.sol";
import {HeaderMeta, HeaderMetas} from "../../contracts/lib/HeaderMeta.sol";
import {MerkleRoot} from "../../contracts/lib/MerkleRoot.sol";
import {Position} from "../../contracts/lib/Position.sol";
import {References} from "../../contracts/lib/References.sol";
import {TransactionMeta, TransactionMetas} from "../../contracts/lib/TransactionMeta.sol";

/// @notice An update that also shows the opening in force, which is no longer stored.
struct KnownUpdate {
    Update update;
    Opening known;
}

/// @title The live chain with one digest in the place of opening and references
/// @notice To be measured, not to be used. Stored of a transaction: ch, uri, meta and
/// digest = H(px || s || referencesHash); opening and references are in events only.
contract LiveChainDigest is LiveState {
    using ChameleonHash for ChameleonHash.Transcript;

    event Published(uint64 indexed position, bytes32 uri, uint8 codec, uint256 px, uint256 s, uint64[] references);
    event Redacted(uint64 indexed position, uint32 version, bytes32 uri, uint8 codec, uint256 px, uint256 s);

    error OpeningUnknown(uint64 position);

    constructor(IQuorum quorum_) LiveState(quorum_) {}

    function append(NewBlock calldata newBlock, Action calldata action) external override {
        Context memory context = _context(_execute(action, keccak256(abi.encode(newBlock))), action, 0);
        bytes32 parent = _headers[height].blockHash;
        if (newBlock.parentHash != parent) revert ParentMismatch(newBlock.parentHash, parent);
        uint32 newHeight = height + 1;
        uint256 count = newBlock.publications.length;
        bytes32[] memory nodes = new bytes32[](2 * count - 1);
        for (uint256 i = 0; i < count; ++i) {
            uint64 position = Position.pack(newHeight, uint32(i));
            _publish(context, position, newBlock.publications[i]);
            nodes[i] = MerkleRoot.leaf(position, newBlock.publications[i].ch);
        }
        bytes32 root = MerkleRoot.root(nodes);
        bytes32 payload = keccak256(abi.encode(parent, root, newBlock.timestamp, uint32(count)));
        uint64 place = Position.ofHeader(newHeight);
        _requireOpening(context.words, place, 0, payload, newBlock.ch, newBlock.opening.px, newBlock.opening.s);
        HeaderSlots storage slots = _headers[newHeight];
        slots.blockHash = keccak256(abi.encode(parent, newBlock.ch, root, newBlock.timestamp));
        slots.ch = newBlock.ch;
        slots.px = newBlock.opening.px;
        slots.s = newBlock.opening.s;
        slots.merkleRoot = root;
        slots.meta = HeaderMetas.pack(newBlock.timestamp, uint32(count), 0, context.epoch);
        height = newHeight;
        emit BlockAppended(newHeight, slots.blockHash, root, uint32(count), context.epoch);
    }

    function redactKnown(KnownUpdate[] calldata updates, HeaderUpdate[] calldata headers, Action calldata action)
        external
    {
        Context memory context = _context(_execute(action, keccak256(abi.encode(updates, headers))), action, 0);
        uint256 previous = 0;
        uint256 used = 0;
        for (uint256 i = 0; i < updates.length; ++i) {
            uint64 position = updates[i].update.position;
            if (position <= previous) revert PositionsNotAscending(position, uint64(previous));
            _redact(context, position, updates[i]);
            if (position >> 32 != previous >> 32) _redactHeader(context, headers[used++]);
            previous = position;
        }
    }

    function redact(Update[] calldata, HeaderUpdate[] calldata, Action calldata) external pure override {
        revert NothingToRedact();
    }

    function _publish(Context memory context, uint64 position, Publication calldata item) private {
        bytes32 hash = References.hash(item.references);
        uint256 previous = 0;
        for (uint256 i = 0; i < item.references.length; ++i) {
            uint64 referenced = item.references[i];
            if (referenced <= previous) revert ReferencesNotAscending(position, referenced);
            if (Position.index(referenced) >= _headers[referenced >> 32].meta.txCount()) {
                revert UnknownReference(position, referenced);
            }
            previous = referenced;
        }
        (uint256 px, uint256 s, uint256 owner) = (item.opening.px, item.opening.s, uint160(item.owner));
        bytes32 payload = _payload(item.uri, item.codec, owner, hash);
        _requireOpening(context.words, position, 0, payload, item.ch, px, s);
        TransactionSlots storage slots = _transactions[position];
        slots.ch = item.ch;
        slots.uri = item.uri;
        slots.meta = TransactionMetas.pack(owner, 0, item.codec, context.stamp);
        slots.px = _digest(px, s, hash);
        emit Published(position, item.uri, item.codec, px, s, item.references);
    }

    function _redact(Context memory context, uint64 position, KnownUpdate calldata item) private {
        TransactionSlots storage slots = _transactions[position];
        TransactionMeta meta = slots.meta;
        Update calldata update = item.update;
        if (update.version != meta.version() + 1) revert VersionNotNext(position, update.version, meta.version() + 1);
        bytes32 hash = update.referencesHash;
        if (_digest(item.known.px, item.known.s, hash) != slots.px) revert OpeningUnknown(position);
        (uint256 px, uint256 s, uint256 owner) = (update.opening.px, update.opening.s, uint160(meta.owner()));
        if (px == item.known.px) revert OpeningReplayed(position);
        bytes32 payload = _payload(update.uri, update.codec, owner, hash);
        _requireOpening(context.words, position, update.version, payload, slots.ch, px, s);
        slots.uri = update.uri;
        slots.px = _digest(px, s, hash);
        slots.meta = TransactionMetas.pack(owner, update.version, update.codec, context.stamp);
        emit Redacted(position, update.version, update.uri, update.codec, px, s);
    }

    function _redactHeader(Context memory context, HeaderUpdate calldata update) private {
        HeaderSlots storage slots = _headers[update.height];
        HeaderMeta meta = slots.meta;
        bytes32 parent = _headers[update.height - 1].blockHash;
        bytes32 payload = keccak256(abi.encode(parent, slots.merkleRoot, meta.timestamp(), meta.txCount()));
        (uint256 px, uint256 s) = (update.opening.px, update.opening.s);
        uint64 place = Position.ofHeader(update.height);
        _requireOpening(context.words, place, update.version, payload, slots.ch, px, s);
        slots.px = px;
        slots.s = s;
        slots.meta = HeaderMetas.pack(meta.timestamp(), meta.txCount(), update.version, context.epoch);
        emit HeaderRedacted(update.height, update.version);
    }

    function _digest(uint256 px, uint256 s, bytes32 referencesHash) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(px, s, referencesHash)));
    }
}
