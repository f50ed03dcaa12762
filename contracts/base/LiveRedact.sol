// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {HeaderUpdate, ILiveChain, Update} from "../interfaces/ILiveChain.sol";
import {Action} from "../interfaces/IQuorum.sol";
import {ChameleonHash} from "../lib/ChameleonHash.sol";
import {HeaderMeta, HeaderMetas} from "../lib/HeaderMeta.sol";
import {Position} from "../lib/Position.sol";
import {ReferenceSlots, References} from "../lib/References.sol";
import {TransactionMeta, TransactionMetas} from "../lib/TransactionMeta.sol";
import {LiveState} from "./LiveState.sol";

/// @title Replaces models and re-opens headers
abstract contract LiveRedact is LiveState {
    using ChameleonHash for ChameleonHash.Transcript;
    using References for ReferenceSlots;

    /// @inheritdoc ILiveChain
    function redact(Update[] calldata updates, HeaderUpdate[] calldata headerUpdates, Action calldata action)
        external
        override
    {
        bytes32 keyId = _execute(action, _redactionDigest(updates, headerUpdates));
        uint24 batch = action.chunks == 1 ? 0 : _batchFor(action.certificate.proposal);
        Context memory context = _context(keyId, action, batch);

        if (updates.length == 0) revert NothingToRedact();
        uint256 previous = 0;
        uint256 headers = 0;
        for (uint256 i = 0; i < updates.length;) {
            Update calldata update;
            assembly ("memory-safe") {
                update := add(updates.offset, mul(i, 0xe0))
            }
            uint256 position = _redactTransaction(context, update, previous);
            if (position >> 32 != previous >> 32) {
                _redactHeader(context, headerUpdates, headers++, Position.height(uint64(position)));
            }
            previous = position;
            unchecked {
                ++i;
            }
        }
        if (headerUpdates.length != headers) revert HeaderUpdateMismatch(headers, headerUpdates[headers].height, 0);
    }

    /// @dev Post: position > previous, version' = version + 1; ch, owner and references stay.
    /// The words of `update` are compared whole, so one with bits beyond its type equals nothing stored.
    function _redactTransaction(Context memory context, Update calldata update, uint256 previous)
        private
        returns (uint256 position)
    {
        uint256 version;
        uint256 codec;
        assembly ("memory-safe") {
            position := calldataload(update)
            version := calldataload(add(update, 0x20))
            codec := calldataload(add(update, 0x60))
        }
        if (position <= previous) revert PositionsNotAscending(uint64(position), uint64(previous));
        TransactionSlots storage slots = _transactions[position];
        TransactionMeta meta = slots.meta;
        uint256 owner = uint160(meta.owner());
        if (owner == 0) revert UnknownPosition(uint64(position));
        unchecked {
            // No model sees 2^32 redactions: at 12 s a block that is 1,600 years.
            if (version != uint256(meta.version()) + 1) {
                revert VersionNotNext(uint64(position), uint32(version), meta.version() + 1);
            }
        }
        if (codec != CODEC_RAW && codec != CODEC_DAG_PB) revert UnknownCodec(uint8(codec));
        bytes32 referencesHash = slots.refs.hash();
        if (update.referencesHash != referencesHash) {
            revert ReferencesChanged(uint64(position), update.referencesHash, referencesHash);
        }
        bytes32 uri = update.uri;
        uint256 px = update.opening.px;
        uint256 s = update.opening.s;
        if (px == slots.px) revert OpeningReplayed(uint64(position));
        if (!context.words.opens(position, version, _payload(uri, codec, owner, referencesHash), slots.ch, px, s)) {
            revert InvalidOpening(uint64(position), uint32(version));
        }

        slots.uri = uri;
        slots.px = px;
        slots.s = s;
        slots.meta = TransactionMetas.pack(owner, version, codec, context.stamp);
        _emitRedacted(position, version, uri, codec);
    }

    /// @dev emit ModelRedacted(position, version, uri, codec) with words that were checked whole.
    function _emitRedacted(uint256 position, uint256 version, bytes32 uri, uint256 codec) private {
        bytes32 topic = ModelRedacted.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            mstore(data, version)
            mstore(add(data, 0x20), uri)
            mstore(add(data, 0x40), codec)
            log2(data, 0x60, topic, position)
        }
    }

    /// @dev Re-opens the header at `expected` with the header update at `index`.
    /// Post: version' = version + 1; parentHash, ch, merkleRoot, timestamp and txCount stay.
    function _redactHeader(
        Context memory context,
        HeaderUpdate[] calldata headerUpdates,
        uint256 index,
        uint32 expected
    ) private {
        if (index >= headerUpdates.length) revert HeaderUpdateMismatch(index, 0, expected);
        HeaderUpdate calldata update = headerUpdates[index];
        if (update.height != expected) revert HeaderUpdateMismatch(index, update.height, expected);
        uint64 position = Position.ofHeader(expected);
        HeaderSlots storage slots = _headers[expected];
        HeaderMeta meta = slots.meta;
        uint32 version = meta.version() + 1;
        if (update.version != version) revert VersionNotNext(position, update.version, version);
        uint256 px = update.opening.px;
        uint256 s = update.opening.s;
        if (px == slots.px) revert OpeningReplayed(position);
        // payload = H(parentHash || merkleRoot || timestamp || txCount)
        bytes32 parent = _headers[expected - 1].blockHash;
        bytes32 payload = keccak256(abi.encode(parent, slots.merkleRoot, meta.timestamp(), meta.txCount()));
        _requireOpening(context.words, position, version, payload, slots.ch, px, s);

        slots.px = px;
        slots.s = s;
        slots.meta = HeaderMetas.pack(meta.timestamp(), meta.txCount(), version, context.epoch);
        emit HeaderRedacted(expected, version);
    }

    /// @dev Number of a proposal in several chunks, from 1; the next one for a proposal without.
    function _batchFor(bytes32 proposal) private returns (uint24 batch) {
        batch = _batchOf[proposal];
        if (batch == 0) {
            batch = ++_batches;
            _batchOf[proposal] = batch;
            _proposalOf[batch] = proposal;
        }
    }

    /// @dev H(abi.encode(updates, headerUpdates)): both hold static values of 7 and 4 words.
    function _redactionDigest(Update[] calldata updates, HeaderUpdate[] calldata headerUpdates)
        private
        pure
        returns (bytes32 digest)
    {
        assembly ("memory-safe") {
            let words := mload(0x40)
            let updatesSize := mul(updates.length, 0xe0)
            let headerUpdatesSize := mul(headerUpdates.length, 0x80)
            mstore(words, 0x40)
            mstore(add(words, 0x20), add(0x60, updatesSize))
            mstore(add(words, 0x40), updates.length)
            calldatacopy(add(words, 0x60), updates.offset, updatesSize)
            let next := add(add(words, 0x60), updatesSize)
            mstore(next, headerUpdates.length)
            calldatacopy(add(next, 0x20), headerUpdates.offset, headerUpdatesSize)
            digest := keccak256(words, add(add(0x80, updatesSize), headerUpdatesSize))
        }
    }
}
