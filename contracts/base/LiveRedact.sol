// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {HeaderUpdate, ILiveChain, Update} from "../interfaces/ILiveChain.sol";
import {Action} from "../interfaces/IQuorum.sol";
import {BlockCode, BlockFields, ModelFields} from "../lib/BlockCode.sol";
import {CreatedCode} from "../lib/CreatedCode.sol";
import {Entries, Entry} from "../lib/Entry.sol";
import {Position} from "../lib/Position.sol";
import {LiveState} from "./LiveState.sol";

/// @title Replaces models and re-opens headers
abstract contract LiveRedact is LiveState {
    /// @dev The block with the models being replaced.
    struct Block {
        address code;
        uint256 models;
    }

    /// @inheritdoc ILiveChain
    function redact(Update[] calldata updates, HeaderUpdate[] calldata headerUpdates, Action calldata action)
        external
        override
    {
        bytes32 keyId = _executeUncounted(action, _redactionDigest(updates, headerUpdates, action));
        Context memory context = _context(keyId, action);
        if (action.chunks != 1) context.batch = _batchFor(context.proposal);

        if (updates.length == 0) revert NothingToRedact();
        Block memory current;
        ModelFields memory fields;
        uint256 previous = 0;
        uint256 headers = 0;
        uint256 next;
        uint256 end;
        assembly ("memory-safe") {
            next := updates.offset
            end := add(next, mul(updates.length, 0xc0))
        }
        while (next != end) {
            Update calldata update;
            uint256 position;
            assembly ("memory-safe") {
                update := next
                next := add(next, 0xc0)
                position := calldataload(update)
            }
            if (position <= previous) revert PositionsNotAscending(uint64(position), uint64(previous));
            if (position >> 32 != previous >> 32) {
                _redactHeader(context, headerUpdates, headers++, position, current);
            }
            _redactTransaction(context, current, fields, update, position);
            previous = position;
        }
        if (headerUpdates.length != headers) revert HeaderUpdateMismatch(headers, headerUpdates[headers].height, 0);
        _logged(updates.length + headers);
    }

    /// @dev Post: version' = version + 1; ch, owner and references do not change. Compares whole words of `update`, so
    /// a value with bits beyond its type equals no stored value.
    function _redactTransaction(
        Context memory context,
        Block memory current,
        ModelFields memory fields,
        Update calldata update,
        uint256 position
    ) private {
        uint256 version;
        bytes32 uri;
        uint256 codec;
        assembly ("memory-safe") {
            version := calldataload(add(update, 0x20))
            uri := calldataload(add(update, 0x40))
            codec := calldataload(add(update, 0x60))
        }
        if (uint32(position) >= current.models) revert UnknownPosition(uint64(position));
        _advance(context, position, version, codec);
        if (codec != CODEC_RAW && codec != CODEC_DAG_PB) revert UnknownCodec(uint8(codec));

        BlockCode.read(current.code, uint32(position), fields);
        bytes32 references = BlockCode.referencesHash(current.code, current.models, fields);
        bytes32 payload = _payload(uri, codec, uint160(fields.owner), references);
        uint256 px = update.opening.px;
        uint256 s = update.opening.s;
        if (!context.words.opens(position, version, payload, fields.ch, px, s)) {
            revert InvalidOpening(uint64(position), uint32(version));
        }
        _uris[position] = uri;
        _emitRedacted(position, update);
    }

    /// @dev Moves the model's entry to `version`, the next one.
    function _advance(Context memory context, uint256 position, uint256 version, uint256 codec) private {
        uint256 number;
        unchecked {
            number = uint256(uint32(position)) + 1;
        }
        uint256 key = Entries.key(position >> 32, number);
        uint256 slot = _entries[key];
        _requireNext(uint64(position), version, Entries.at(slot, number).version());
        _entries[key] = Entries.put(slot, number, Entries.ofModel(version, context.epoch, codec, context.batch));
    }

    /// @dev emit ModelRedacted(position, version, uri, codec, opening) from the checked words of the update.
    function _emitRedacted(uint256 position, Update calldata update) private {
        bytes32 topic = ModelRedacted.selector;
        assembly ("memory-safe") {
            let data := mload(0x40)
            calldatacopy(data, add(update, 0x20), 0xa0)
            log2(data, 0xa0, topic, position)
        }
    }

    /// @dev Re-opens the header of the block of `position` with the header update at `index`; `current` becomes that
    /// block. Post: version' = version + 1; parentHash, ch, merkleRoot, timestamp and txCount do not change.
    function _redactHeader(
        Context memory context,
        HeaderUpdate[] calldata headerUpdates,
        uint256 index,
        uint256 position,
        Block memory current
    ) private {
        uint256 key = Entries.key(position >> 32, 0);
        uint256 slot = _entries[key];
        Entry entry = Entries.at(slot, 0);
        uint256 models = entry.models();
        // An unknown height, or the genesis block.
        if (models == 0) revert UnknownPosition(uint64(position));
        uint256 expected = position >> 32;
        if (index >= headerUpdates.length) revert HeaderUpdateMismatch(index, 0, uint32(expected));
        HeaderUpdate calldata update = headerUpdates[index];
        uint256 given;
        uint256 version;
        assembly ("memory-safe") {
            given := calldataload(update)
            version := calldataload(add(update, 0x20))
        }
        if (given != expected) revert HeaderUpdateMismatch(index, uint32(given), uint32(expected));
        uint64 place = Position.ofHeader(uint32(expected));
        _requireNext(place, version, entry.version());

        (current.code, current.models) = (CreatedCode.locate(expected), models);
        BlockFields memory fields = BlockCode.header(current.code);
        bytes32 payload = _headerPayload(fields.parentHash, fields.merkleRoot, fields.timestamp, models);
        if (!context.words.opens(place, version, payload, fields.ch, update.opening.px, update.opening.s)) {
            revert InvalidOpening(place, uint32(version));
        }
        _entries[key] = Entries.put(slot, 0, Entries.ofHeader(version, context.epoch, models));
        emit HeaderRedacted(uint32(expected), context.proposal, uint32(version), update.opening);
    }

    /// @dev version = stored + 1. Compares the whole word.
    function _requireNext(uint64 place, uint256 version, uint256 stored) private pure {
        unchecked {
            if (version != stored + 1) revert VersionNotNext(place, uint32(version), uint32(stored + 1));
        }
        if (version == Entries.LIMIT) revert CounterExhausted();
    }

    /// @dev Number of a proposal with several chunks, from 1; assigns the next number if it has none.
    function _batchFor(bytes32 proposal) private returns (uint24 batch) {
        batch = _batchOf[proposal];
        if (batch == 0) {
            batch = ++_batches;
            if (batch == Entries.BATCH_LIMIT) revert CounterExhausted();
            _batchOf[proposal] = batch;
            _proposalOf[batch] = proposal;
        }
    }

    /// @dev H(abi.encode(updates, headerUpdates)): both lists have static values, of 6 and 4 words, and are adjacent in
    /// the calldata, before the action.
    function _redactionDigest(Update[] calldata updates, HeaderUpdate[] calldata headerUpdates, Action calldata action)
        private
        pure
        returns (bytes32 digest)
    {
        uint256 end;
        bool canonical;
        assembly ("memory-safe") {
            let second := add(updates.offset, mul(updates.length, 0xc0))
            end := add(headerUpdates.offset, mul(headerUpdates.length, 0x80))
            // The selector and the offsets of three arguments come first; a list starts with its length.
            canonical := and(eq(updates.offset, 0x84), eq(headerUpdates.offset, add(second, 0x20)))
        }
        if (!canonical) revert CalldataNotCanonical();
        _requireCanonicalEnd(action, end);
        assembly ("memory-safe") {
            let words := mload(0x40)
            let size := sub(end, 0x64)
            mstore(words, 0x40)
            mstore(add(words, 0x20), add(0x60, mul(updates.length, 0xc0)))
            calldatacopy(add(words, 0x40), 0x64, size)
            digest := keccak256(words, add(0x40, size))
        }
    }
}
