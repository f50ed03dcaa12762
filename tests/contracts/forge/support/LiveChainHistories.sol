// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../../contracts/interfaces/ICertified.sol";
import {
    Header,
    HeaderUpdate,
    ILiveChain,
    ModelTransaction,
    NewBlock,
    Opening,
    Update
} from "../../../../contracts/interfaces/ILiveChain.sol";
import {Action, IQuorum} from "../../../../contracts/interfaces/IQuorum.sol";
import {Chameleon} from "./Chameleon.sol";
import {Block, Model} from "./LiveScene.sol";
import {VM} from "./Vm.sol";
import {World} from "./World.sol";

/// @notice Good and bad appends and redactions, chunks and new epochs, each chosen by a number; what a bad action is
/// refused with is known beforehand.
contract LiveChainHistories is World {
    /// @notice How often an action went through, or an error was met.
    mapping(bytes32 outcome => uint256) public seen;

    bytes[] private _chunks;
    uint256 private _next;
    uint64[] private _batch;
    mapping(uint64 position => bool) private _unsettled;
    /// @dev P.x of the opening that was checked last.
    mapping(uint64 position => uint256) private _checked;

    constructor() {
        deploy();
        publish(2);
    }

    function appendBlock(uint256 number) external {
        uint64[][] memory references = new uint64[][](1 + number % 3);
        for (uint256 i = 0; i < references.length; ++i) {
            references[i] = _choose(uint256(keccak256(abi.encode(number, i))), 0);
        }
        publish(references);
        ++seen["append"];
    }

    function appendBadly(uint256 number) external {
        uint256 kind = number % 4;
        uint32 height = uint32(blocks.length);
        NewBlock memory made = newBlock(lists(kind == 0 ? list(at(height, 0)) : new uint64[](0)), TIME);
        if (kind == 1) made.parentHash = "another";
        else if (kind == 2) made.ch ^= 1;
        Action memory action = certifyBlock(made);
        if (kind == 3) ++made.timestamp;
        _expect(
            [
                ILiveChain.UnknownReference.selector,
                ILiveChain.ParentMismatch.selector,
                ILiveChain.InvalidOpening.selector,
                ICertified.NotCertified.selector
            ][kind]
        );
        live.append(made, action);
    }

    function redactModels(uint256 number) external {
        uint64[] memory places = _choose(number, 1);
        redact(places);
        for (uint256 i = 0; i < places.length; ++i) {
            _unsettled[places[i]] = false;
        }
        ++seen["redact"];
    }

    function redactBadly(uint256 number) external {
        uint256 kind = number % 5;
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_any(number)));
        if (kind == 0) ++updates[0].version;
        else if (kind == 1) updates[0].uri = "another";
        else if (kind == 2) updates[0].codec = 0;
        else if (kind == 3) updates = _twice(updates[0]);
        uint256 voters = kind == 4 ? members.enough() >> 1 : members.enough();
        Action memory action =
            certifyBy(address(live), ILiveChain.redact.selector, redactionDigest(updates, headers), voters);
        _expect(
            [
                ILiveChain.VersionNotNext.selector,
                ILiveChain.InvalidOpening.selector,
                ILiveChain.UnknownCodec.selector,
                ILiveChain.PositionsNotAscending.selector,
                IQuorum.QuorumNotReached.selector
            ][kind]
        );
        live.redact(updates, headers, action);
    }

    /// @notice A restored model: the old URI, the old opening, the next version.
    function restore(uint256 number) external {
        uint64 place = _any(number);
        (bytes32 uri, Opening memory opening) = (models[place].uri, models[place].opening);
        redact(place);
        _unsettled[place] = false;
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(place));
        (updates[0].uri, updates[0].opening) = (uri, opening);
        Action memory action = certifyRedaction(updates, headers);
        _expect(ILiveChain.InvalidOpening.selector);
        live.redact(updates, headers, action);
    }

    /// @notice One certificate for a redaction in each of several blocks; its first chunk is executed.
    function decideInChunks(uint256 number) external {
        if (_next < _chunks.length) return;
        delete _chunks;
        delete _batch;
        _next = 0;
        uint256 count = 1 + number % 3;
        if (count > blocks.length - 1) count = blocks.length - 1;
        bytes32[] memory digests = new bytes32[](count);
        bytes[] memory parts = new bytes[](count);
        for (uint32 i = 0; i < count; ++i) {
            uint32 height = uint32(blocks.length - count + i);
            (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(at(height, 0)));
            digests[i] = redactionDigest(updates, headers);
            parts[i] = abi.encode(updates, headers);
        }
        Action[] memory actions =
            certifyChunks(address(live), ILiveChain.redact.selector, digests, bytes32(fresh()), members.enough());
        for (uint256 i = 0; i < count; ++i) {
            _chunks.push(abi.encode(parts[i], actions[i]));
        }
        _executeChunk();
    }

    /// @notice The next chunk, unless its epoch is over or what it replaces has moved on; then the same chunk again.
    function goOn(uint256) external {
        if (_next >= _chunks.length) return;
        (Update[] memory updates, HeaderUpdate[] memory headers, Action memory action) = _chunk(_next);
        bool current = updates[0].version == models[updates[0].position].version + 1
            && headers[0].version == blocks[headers[0].height].version + 1;
        if (action.certificate.epoch != epoch || !current) {
            bool stale = action.certificate.epoch != epoch;
            _expect(stale ? IQuorum.StaleEpoch.selector : ILiveChain.VersionNotNext.selector);
            live.redact(updates, headers, action);
            _next = _chunks.length;
            return;
        }
        _executeChunk();
        _expect(ICertified.ChunkOutOfOrder.selector);
        live.redact(updates, headers, action);
    }

    /// @notice The next epoch; the old committee's certificates and trapdoor move nothing any more.
    function appoint(uint256 number) external {
        NewBlock memory late = newBlock(1);
        Action memory action = certifyBlock(late);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_any(number)));
        Action memory old = certifyRedaction(updates, headers);
        handOver([1, 4, 7][number % 3], VM.toString(epoch));
        _expect(IQuorum.StaleEpoch.selector);
        live.append(late, action);
        _expect(IQuorum.StaleEpoch.selector);
        live.redact(updates, headers, old);
        action = certifyRedaction(updates, headers);
        _expect(ILiveChain.InvalidOpening.selector);
        live.redact(updates, headers, action);
        ++seen["epoch"];
    }

    /// @notice The chain is what was decided on: versions grew by one with each redaction, nothing else of what never
    /// changes did, every opening opens under the key of its epoch, blocks are linked.
    function check() external {
        VM.assertEq(live.height(), blocks.length - 1);
        VM.assertEq(live.eventCount(), logged);
        ModelTransaction[] memory found = live.transactions(positions);
        for (uint256 i = 0; i < found.length; ++i) {
            _checkModel(positions[i], found[i]);
        }
        for (uint32 height = 1; height < blocks.length; ++height) {
            _checkHeader(height, live.header(height));
        }
    }

    function _checkModel(uint64 position, ModelTransaction memory found) private {
        Model memory model = models[position];
        VM.assertEq(found.ch, model.ch);
        VM.assertEq(found.owner, model.owner);
        VM.assertEq(keccak256(abi.encode(found.references)), keccak256(abi.encode(model.references)));
        VM.assertEq(found.uri, model.uri);
        VM.assertEq(found.codec, RAW);
        VM.assertEq(found.version, model.version);
        VM.assertEq(found.settled, !_unsettled[position]);
        bytes32 payload = payloadOf(found.uri, found.codec, found.owner, model.referencesHash);
        _checkOpening(position, found.epoch, Chameleon.message(found.version, payload), found.ch, model.opening);
    }

    function _checkHeader(uint32 height, Header memory found) private {
        Block memory known = blocks[height];
        VM.assertEq(found.parentHash, blocks[height - 1].hash);
        VM.assertEq(live.blockHash(height), known.hash);
        VM.assertEq(found.ch, known.ch);
        VM.assertEq(found.merkleRoot, known.root);
        VM.assertEq(found.timestamp, known.timestamp);
        VM.assertEq(found.txCount, known.count);
        VM.assertEq(found.version, known.version);
        bytes32 payload = keccak256(abi.encode(found.parentHash, found.merkleRoot, found.timestamp, found.txCount));
        bytes32 message = Chameleon.message(found.version, payload);
        _checkOpening(at(height, HEADER), found.epoch, message, found.ch, known.opening);
    }

    /// @dev An opening is checked when it is new.
    function _checkOpening(uint64 position, uint64 epoch_, bytes32 message, uint256 ch, Opening memory opening)
        private
    {
        if (_checked[position] == opening.px) return;
        bytes32 label = Chameleon.label(block.chainid, address(live), position);
        VM.assertTrue(Chameleon.opens(committee.keyId(epoch_), label, message, ch, opening));
        _checked[position] = opening.px;
    }

    function _executeChunk() private {
        (Update[] memory updates, HeaderUpdate[] memory headers, Action memory action) = _chunk(_next);
        live.redact(updates, headers, action);
        settle(updates, headers);
        if (action.chunks != 1) ++logged;
        ++_next;
        _unsettled[updates[0].position] = true;
        _batch.push(updates[0].position);
        for (uint256 i = 0; _next == _chunks.length && i < _batch.length; ++i) {
            _unsettled[_batch[i]] = false;
        }
        ++seen["chunk"];
    }

    function _chunk(uint256 index)
        private
        view
        returns (Update[] memory updates, HeaderUpdate[] memory headers, Action memory action)
    {
        bytes memory part;
        (part, action) = abi.decode(_chunks[index], (bytes, Action));
        (updates, headers) = abi.decode(part, (Update[], HeaderUpdate[]));
    }

    /// @dev Up to five models, at least `least`, ascending.
    function _choose(uint256 number, uint256 least) private view returns (uint64[] memory places) {
        uint64[] memory chosen = new uint64[](5);
        uint256 count = 0;
        uint256 wanted = least + (number >> 8) % (6 - least);
        for (uint256 i = (number >> 16) % positions.length; count < wanted && i < positions.length;) {
            chosen[count++] = positions[i];
            i += 1 + (number >> (32 + 8 * count)) % 3;
        }
        places = new uint64[](count);
        for (uint256 i = 0; i < count; ++i) {
            places[i] = chosen[i];
        }
    }

    function _any(uint256 number) private view returns (uint64) {
        return positions[(number >> 16) % positions.length];
    }

    function _twice(Update memory update_) private pure returns (Update[] memory both) {
        both = new Update[](2);
        (both[0], both[1]) = (update_, update_);
    }

    function _expect(bytes4 error_) private {
        ++seen[error_];
        VM.expectPartialRevert(error_);
    }
}
