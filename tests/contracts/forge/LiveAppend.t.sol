// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {
    Header,
    ILiveChain,
    ModelTransaction,
    NewBlock,
    Opening,
    Publication
} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {Chameleon} from "./support/Chameleon.sol";
import {Curve} from "./support/Curve.sol";
import {Model} from "./support/LiveScene.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Blocks: what is stored, what is logged, and what is refused.
contract LiveAppendTest is World {
    function setUp() external {
        deploy();
    }

    function test_the_genesis_header() external view {
        VM.assertEq(live.height(), 0);
        VM.assertEq(live.blockHash(0), keccak256(abi.encode(block.chainid, live)));
        Header memory header = live.header(0);
        VM.assertEq(header.parentHash, 0);
        VM.assertEq(header.ch, 0);
        VM.assertEq(header.timestamp, 0);
        VM.assertEq(header.txCount, 0);
    }

    function test_a_block_stands_as_it_was_proposed() external {
        publish(3);
        NewBlock memory made = newBlock(_references(), TIME + 100);
        Action memory action = certifyBlock(made);
        remember(made);
        for (uint32 i = 0; i < 4; ++i) {
            Publication memory each = made.publications[i];
            VM.expectEmit(address(live));
            emit ILiveChain.ModelPublished(at(2, i), each.owner, each.uri, RAW, each.references);
        }
        VM.expectEmit(address(live));
        emit ILiveChain.BlockAppended(2, action.certificate.proposal, blocks[2].hash, blocks[2].root, 4, 1);
        live.append(made, action);

        Header memory header = live.header(2);
        VM.assertEq(header.parentHash, blocks[1].hash);
        VM.assertEq(live.blockHash(1), blocks[1].hash);
        VM.assertEq(live.blockHash(2), blocks[2].hash);
        VM.assertEq(header.ch, made.ch);
        VM.assertEq(header.version, 0);
        VM.assertEq(header.epoch, 1);
        VM.assertEq(header.timestamp, TIME + 100);
        VM.assertEq(header.txCount, 4);
        VM.assertEq(header.merkleRoot, blocks[2].root);
        for (uint32 i = 0; i < 4; ++i) {
            _stands(at(2, i), made.publications[i]);
        }
    }

    function test_many_references() external {
        publish(9);
        uint64[][] memory references = new uint64[][](3);
        (references[0], references[1], references[2]) = (_first(4), new uint64[](0), _first(9));
        publish(references);
        for (uint32 i = 0; i < 3; ++i) {
            VM.assertEq(abi.encode(live.transaction(at(2, i)).references), abi.encode(references[i]));
        }
        redact(list(at(2, 0), at(2, 1), at(2, 2)));
        VM.assertEq(abi.encode(live.transaction(at(2, 2)).references), abi.encode(references[2]));
    }

    function test_the_root_is_over_the_chameleon_hashes() external {
        publish(5);
        Publication[] memory expected = new Publication[](5);
        ModelTransaction[] memory found = live.transactions(positions);
        for (uint256 i = 0; i < 5; ++i) {
            expected[i].ch = found[i].ch;
        }
        VM.assertEq(live.header(1).merkleRoot, rootOf(1, expected));
    }

    function test_the_largest_block() external {
        publish(128);
        VM.assertEq(live.header(1).txCount, 128);
        VM.assertEq(live.header(1).merkleRoot, blocks[1].root);
        redact(list(at(1, 0), at(1, 127)));
        VM.assertEq(live.transaction(at(1, 126)).version, 0);
        VM.assertEq(live.transaction(at(1, 127)).version, 1);
    }

    /// @notice A block's code has at most 24,576 bytes, its references included (EIP-170).
    function test_a_block_whose_code_is_too_long() external {
        publish(128);
        uint64[][] memory references = new uint64[][](23);
        for (uint256 i = 0; i < 23; ++i) {
            references[i] = _first(128);
        }
        _refused(newBlock(references, TIME), abi.encodeWithSelector(ILiveChain.BlockTooLong.selector, 24_901, 24_576));
        assembly ("memory-safe") {
            mstore(references, 22)
        }
        publish(references);
        VM.assertEq(abi.encode(live.transaction(at(2, 21)).references), abi.encode(references[21]));
    }

    /// @notice From the 128th on, a block's height has two bytes in the address of its code.
    function test_blocks_are_found_by_their_height() external {
        for (uint32 height = 1; height < 131; ++height) {
            publish(1);
            VM.assertEq(live.header(height).ch, blocks[height].ch);
            VM.assertEq(live.blockHash(height), blocks[height].hash);
        }
        redact(list(at(127, 0), at(128, 0), at(130, 0)));
        VM.assertEq(live.blockHash(129), blocks[129].hash);
    }

    function test_a_block_that_does_not_extend_the_head() external {
        publish(1);
        NewBlock memory made = newBlock(1);
        made.parentHash = 0;
        _refused(made, abi.encodeWithSelector(ILiveChain.ParentMismatch.selector, bytes32(0), live.blockHash(1)));
    }

    function test_a_block_before_its_parent() external {
        publish(1);
        _refused(newBlock(new uint64[][](1), TIME - 1), _outOfRange(TIME - 1, TIME));
    }

    function test_a_block_of_its_parents_second() external {
        publish(1);
        publish(1);
        VM.assertEq(live.height(), 2);
    }

    function test_a_block_from_the_future() external {
        uint64 latest = uint64(block.timestamp) + 900;
        _refused(newBlock(new uint64[][](1), latest + 1), _outOfRange(latest + 1, 0));
        append(newBlock(new uint64[][](1), latest));
    }

    function test_an_empty_block() external {
        _refused(newBlock(0), abi.encodeWithSelector(ILiveChain.InvalidBlockSize.selector, 0, 128));
    }

    function test_a_block_that_is_too_large() external {
        NewBlock memory made = newBlock(1);
        Publication memory only = made.publications[0];
        made.publications = new Publication[](129);
        for (uint256 i = 0; i < 129; ++i) {
            made.publications[i] = only;
        }
        _refused(made, abi.encodeWithSelector(ILiveChain.InvalidBlockSize.selector, 129, 128));
    }

    function testFuzz_an_unknown_codec(uint8 codec) external {
        VM.assume(codec != 0x55 && codec != 0x70);
        NewBlock memory made = newBlock(1);
        made.publications[0].codec = codec;
        _refused(made, abi.encodeWithSelector(ILiveChain.UnknownCodec.selector, codec));
    }

    function test_a_model_without_an_owner() external {
        NewBlock memory made = newBlock(2);
        made.publications[1].owner = address(0);
        _refused(made, abi.encodeWithSelector(ILiveChain.OwnerMissing.selector, at(1, 1)));
    }

    /// @notice Beyond its block, in the same block, in a later block, in the genesis block, a header.
    function test_an_unknown_reference() external {
        publish(2);
        uint64[5] memory unknown = [at(1, 2), at(2, 0), at(3, 0), at(0, 1), at(1, HEADER)];
        for (uint256 i = 0; i < unknown.length; ++i) {
            _refused(
                newBlock(lists(new uint64[](0), list(unknown[i])), TIME),
                abi.encodeWithSelector(ILiveChain.UnknownReference.selector, at(2, 1), unknown[i])
            );
        }
    }

    function test_references_that_do_not_ascend() external {
        publish(2);
        _notAscending(list(at(1, 1), at(1, 0)), at(1, 0));
        _notAscending(list(at(1, 0), at(1, 0)), at(1, 0));
        _notAscending(list(0), 0);
    }

    function test_an_opening_of_other_content() external {
        publish(2);
        for (uint256 field = 0; field < 6; ++field) {
            NewBlock memory made = newBlock(lists(list(at(1, 0)), list(at(1, 0))), TIME);
            Publication memory spoilt = made.publications[1];
            if (field == 0) spoilt.ch = made.publications[0].ch ^ 1;
            else if (field == 1) spoilt.uri = 0;
            else if (field == 2) spoilt.owner = address(0x11);
            else if (field == 3) spoilt.references = list(at(1, 1));
            else if (field == 4) spoilt.opening = made.publications[0].opening;
            else spoilt.codec = 0x70;
            _refused(made, abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(2, 1), 0));
        }
    }

    /// @notice By the trapdoor every number below n has an opening, and a hash has many; of a model that is published
    /// only a first one counts.
    function test_an_opening_that_does_not_follow_from_its_content() external {
        for (uint256 kind = 0; kind < 2; ++kind) {
            NewBlock memory made = newBlock(1);
            Publication memory only = made.publications[0];
            if (kind == 0) only.ch = uint256(keccak256("another")) % Curve.N;
            only.opening = openingOf(at(1, 0), _messageOf(only), only.ch);
            _refused(made, abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(1, 0), 0));
        }
    }

    function test_a_header_whose_opening_does_not_follow_from_its_content() external {
        NewBlock memory made = newBlock(1);
        bytes32 root = rootOf(1, made.publications);
        bytes32 payload = keccak256(abi.encode(made.parentHash, root, made.timestamp, uint32(1)));
        made.opening = openingOf(at(1, HEADER), Chameleon.message(0, payload), made.ch);
        _refused(made, abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(1, HEADER), 0));
    }

    /// @notice Of the first openings of one content any may be published.
    function test_another_of_the_first_openings() external {
        NewBlock memory made = newBlock(1);
        Publication memory only = made.publications[0];
        bytes32 label = Chameleon.label(block.chainid, address(live), at(1, 0));
        (uint256 ch, Opening memory opening) =
            Chameleon.first(members.trapdoor, members.keyId(), label, _messageOf(only), (only.opening.s & 63) + 1);
        VM.assertEq(opening.s >> 6, only.opening.s >> 6);
        (only.ch, only.opening) = (ch, opening);
        // The header commits to the root, so it is made anew.
        bytes32 payload =
            keccak256(abi.encode(made.parentHash, rootOf(1, made.publications), made.timestamp, uint32(1)));
        label = Chameleon.label(block.chainid, address(live), at(1, HEADER));
        (made.ch, made.opening) =
            Chameleon.first(members.trapdoor, members.keyId(), label, Chameleon.message(0, payload), 0);
        append(made);
        VM.assertEq(live.transaction(at(1, 0)).ch, ch);
    }

    function test_an_opening_of_another_header() external {
        NewBlock memory made = newBlock(1);
        made.ch ^= 1;
        _refused(made, abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, at(1, HEADER), 0));
    }

    /// @notice A block encoded behind its action is refused.
    function test_the_calldata_of_the_block_is_what_is_certified() external {
        NewBlock memory made = newBlock(1);
        Action memory action = certifyBlock(made);
        bytes memory tail = _tail(abi.encode(made));
        bytes memory actionTail = _tail(abi.encode(action));
        bytes memory swapped = abi.encodePacked(64 + actionTail.length, uint256(64), actionTail, tail);
        (NewBlock memory sameBlock, Action memory sameAction) = abi.decode(swapped, (NewBlock, Action));
        VM.assertEq(abi.encode(sameBlock, sameAction), abi.encode(made, action));
        VM.expectPartialRevert(ICertified.CalldataNotCanonical.selector);
        (bool done,) = address(live).call(bytes.concat(ILiveChain.append.selector, swapped));
        bytes memory straight = abi.encodePacked(uint256(64), 64 + tail.length, tail, actionTail);
        (done,) = address(live).call(bytes.concat(ILiveChain.append.selector, straight));
        VM.assertTrue(done);
    }

    function test_a_header_that_does_not_exist() external {
        publish(1);
        live.header(1);
        live.blockHash(1);
        bytes memory unknown = abi.encodeWithSelector(ILiveChain.UnknownPosition.selector, at(2, HEADER));
        VM.expectRevert(unknown);
        live.header(2);
        VM.expectRevert(unknown);
        live.blockHash(2);
    }

    function test_a_model_that_does_not_exist() external {
        publish(1);
        uint64[5] memory places = [uint64(0), at(0, 0), at(1, 1), at(1, HEADER), type(uint64).max];
        for (uint256 i = 0; i < places.length; ++i) {
            bytes memory unknown = abi.encodeWithSelector(ILiveChain.UnknownPosition.selector, places[i]);
            VM.expectRevert(unknown);
            live.transaction(places[i]);
            VM.expectRevert(unknown);
            live.transactions(list(at(1, 0), places[i]));
        }
    }

    function _refused(NewBlock memory made, bytes memory error_) private {
        Action memory action = certifyBlock(made);
        VM.expectRevert(error_);
        live.append(made, action);
    }

    /// @dev Of version 0 of a model.
    function _messageOf(Publication memory model) private pure returns (bytes32) {
        return Chameleon.message(0, payloadOf(model.uri, model.codec, model.owner, hashOf(model.references)));
    }

    function _notAscending(uint64[] memory references, uint64 second) private {
        _refused(
            newBlock(lists(references), TIME),
            abi.encodeWithSelector(ILiveChain.ReferencesNotAscending.selector, at(2, 0), second)
        );
    }

    function _outOfRange(uint64 given, uint64 earliest) private view returns (bytes memory) {
        uint64 latest = uint64(block.timestamp) + 900;
        return abi.encodeWithSelector(ILiveChain.TimestampOutOfRange.selector, given, earliest, latest);
    }

    function _stands(uint64 position, Publication memory made) private view {
        ModelTransaction memory found = live.transaction(position);
        VM.assertEq(found.ch, made.ch);
        VM.assertEq(found.uri, made.uri);
        VM.assertEq(found.codec, RAW);
        VM.assertEq(found.version, 0);
        VM.assertEq(found.epoch, 1);
        VM.assertEq(found.owner, made.owner);
        VM.assertTrue(found.settled);
        VM.assertEq(abi.encode(found.references), abi.encode(made.references));
    }

    function _references() private pure returns (uint64[][] memory references) {
        references = new uint64[][](4);
        references[0] = list(at(1, 0));
        references[1] = list(at(1, 0), at(1, 2));
        references[3] = _first(3);
    }

    /// @dev The first models of block 1.
    function _first(uint32 count) private pure returns (uint64[] memory places) {
        places = new uint64[](count);
        for (uint32 i = 0; i < count; ++i) {
            places[i] = at(1, i);
        }
    }

    /// @dev The encoding of a dynamic value without the word that points to it.
    function _tail(bytes memory encoded) private pure returns (bytes memory tail) {
        tail = new bytes(encoded.length - 32);
        for (uint256 i = 0; i < tail.length; ++i) {
            tail[i] = encoded[i + 32];
        }
    }
}
