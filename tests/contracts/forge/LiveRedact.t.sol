// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {
    Header,
    HeaderUpdate,
    ILiveChain,
    ModelTransaction,
    Opening,
    Update
} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Redactions: what changes, what never does, and what is refused.
contract LiveRedactTest is World {
    uint64 private immutable _first = at(1, 0);
    uint64 private immutable _second = at(1, 1);
    uint64 private immutable _other = at(2, 0);

    /// @notice Two models in block 1, and in block 2 one that refers to both.
    function setUp() external {
        deploy();
        publish(2);
        publish(lists(list(_first, _second)));
    }

    function test_a_redaction_replaces_uri_and_opening_and_nothing_else() external {
        uint64[] memory places = list(_first, _second, _other);
        ModelTransaction[] memory before = live.transactions(places);
        Header[2] memory headers = [live.header(1), live.header(2)];
        bytes32[3] memory hashes = [live.blockHash(0), live.blockHash(1), live.blockHash(2)];

        (Update[] memory updates, HeaderUpdate[] memory headerUpdates) = redaction(list(_first, _other));
        Action memory action = certifyRedaction(updates, headerUpdates);
        for (uint32 i = 0; i < 2; ++i) {
            VM.expectEmit(address(live));
            emit ILiveChain.HeaderRedacted(i + 1, action.certificate.proposal, 1, headerUpdates[i].opening);
            VM.expectEmit(address(live));
            emit ILiveChain.ModelRedacted(updates[i].position, 1, updates[i].uri, RAW, updates[i].opening);
        }
        live.redact(updates, headerUpdates, action);

        ModelTransaction[] memory found = live.transactions(places);
        VM.assertEq(abi.encode(found[1]), abi.encode(before[1]));
        _replaced(found[0], before[0], updates[0]);
        _replaced(found[2], before[2], updates[1]);
        for (uint32 i = 0; i < 2; ++i) {
            _reopened(live.header(i + 1), headers[i]);
        }
        for (uint32 height = 0; height < 3; ++height) {
            VM.assertEq(live.blockHash(height), hashes[height]);
        }
    }

    function test_versions_grow_by_one() external {
        for (uint32 version = 1; version < 4; ++version) {
            redact(_second);
            VM.assertEq(live.transaction(_second).version, version);
            VM.assertEq(live.header(1).version, version);
        }
    }

    function testFuzz_a_version_that_is_not_the_next(uint32 version) external {
        VM.assume(version != 1);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        updates[0].version = version;
        _refused(updates, headers, abi.encodeWithSelector(ILiveChain.VersionNotNext.selector, _first, version, 1));
    }

    /// @notice The old opening opens the hash to the old version only, whatever version is claimed.
    function test_an_opening_of_another_version() external {
        (bytes32 uri, Opening memory opening) = (models[_first].uri, models[_first].opening);
        redact(_first);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        (updates[0].uri, updates[0].opening) = (uri, opening);
        _refused(updates, headers, _invalidOpening(_first, 2));
    }

    function test_the_opening_in_force() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        updates[0].opening = models[_first].opening;
        _refused(updates, headers, _invalidOpening(_first, 1));
    }

    function test_an_opening_for_another_position() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first, _second));
        updates[0].opening = updates[1].opening;
        _refused(updates, headers, _invalidOpening(_first, 1));
    }

    function test_an_opening_for_another_contract() external {
        labelTarget = address(archive);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        _refused(updates, headers, _invalidOpening(at(1, HEADER), 1));
    }

    function test_an_opening_for_another_chain() external {
        ++labelChain;
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        _refused(updates, headers, _invalidOpening(at(1, HEADER), 1));
    }

    function test_an_opening_for_another_uri() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        updates[0].uri = 0;
        _refused(updates, headers, _invalidOpening(_first, 1));
    }

    function test_a_spoilt_opening() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        (uint256 px, uint256 s) = (updates[0].opening.px, updates[0].opening.s);
        Opening[4] memory spoilt = [Opening(px, s ^ 1), Opening(px ^ 1, s), Opening(0, s), Opening(px, 0)];
        for (uint256 i = 0; i < spoilt.length; ++i) {
            updates[0].opening = spoilt[i];
            _refused(updates, headers, _invalidOpening(_first, 1));
        }
    }

    function test_a_duplicated_position() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        _refused(
            _pair(updates[0], updates[0]),
            headers,
            abi.encodeWithSelector(ILiveChain.PositionsNotAscending.selector, _first, _first)
        );
    }

    function test_positions_that_do_not_ascend() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first, _second));
        _refused(
            _pair(updates[1], updates[0]),
            headers,
            abi.encodeWithSelector(ILiveChain.PositionsNotAscending.selector, _first, _second)
        );
    }

    /// @notice The trapdoor opens to anything; the contract takes references from its own record.
    function test_an_opening_for_other_references() external {
        models[_other].referencesHash = hashOf(new uint64[](0));
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_other));
        _refused(updates, headers, _invalidOpening(_other, 1));
    }

    /// @notice Entries share a slot, four and four: one that changes leaves its neighbours as they are.
    function test_models_that_share_a_slot() external {
        publish(9);
        for (uint32 index = 0; index < 9; ++index) {
            redact(at(3, index));
            VM.assertEq(live.header(3).version, index + 1);
            VM.assertEq(live.header(3).txCount, 9);
            for (uint32 each = 0; each < 9; ++each) {
                ModelTransaction memory found = live.transaction(at(3, each));
                VM.assertEq(found.version, each <= index ? 1 : 0);
                VM.assertEq(found.uri, models[at(3, each)].uri);
            }
        }
    }

    function test_an_unknown_position() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        uint64[3] memory unknown = [at(1, 2), at(3, 0), at(1, HEADER)];
        for (uint256 i = 0; i < unknown.length; ++i) {
            updates[0].position = unknown[i];
            _refused(updates, headers, abi.encodeWithSelector(ILiveChain.UnknownPosition.selector, unknown[i]));
        }
    }

    function testFuzz_an_unknown_codec(uint8 codec) external {
        VM.assume(codec != 0x55 && codec != 0x70);
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        updates[0].codec = codec;
        _refused(updates, headers, abi.encodeWithSelector(ILiveChain.UnknownCodec.selector, codec));
    }

    function test_nothing_to_redact() external {
        _refused(new Update[](0), new HeaderUpdate[](0), abi.encodeWithSelector(ILiveChain.NothingToRedact.selector));
    }

    function test_header_updates_must_be_those_of_the_blocks() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first, _other));
        HeaderUpdate[] memory one = new HeaderUpdate[](1);
        one[0] = headers[0];
        _refused(updates, one, _mismatch(1, 0, 2));
        HeaderUpdate[] memory turned = new HeaderUpdate[](2);
        (turned[0], turned[1]) = (headers[1], headers[0]);
        _refused(updates, turned, _mismatch(0, 2, 1));
        Update[] memory first = new Update[](1);
        first[0] = updates[0];
        _refused(first, headers, _mismatch(1, 2, 0));
        _refused(updates, new HeaderUpdate[](0), _mismatch(0, 0, 1));
    }

    function test_header_openings_are_checked_like_the_others() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        uint64 place = at(1, HEADER);
        headers[0].version = 2;
        _refused(updates, headers, abi.encodeWithSelector(ILiveChain.VersionNotNext.selector, place, 2, 1));
        headers[0].version = 1;
        headers[0].opening = blocks[1].opening;
        _refused(updates, headers, _invalidOpening(place, 1));
        headers[0].opening = updates[0].opening;
        _refused(updates, headers, _invalidOpening(place, 1));
    }

    function test_one_failure_reverts_all() external {
        uint64[] memory places = list(_first, _second, _other);
        bytes memory before = abi.encode(live.transactions(places), live.header(1), live.header(2));
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(places);
        updates[2].version = 5;
        _refused(updates, headers, abi.encodeWithSelector(ILiveChain.VersionNotNext.selector, _other, 5, 1));
        VM.assertEq(abi.encode(live.transactions(places), live.header(1), live.header(2)), before);
    }

    /// @notice Words of an update are compared whole: a position, version or codec has no second spelling.
    function test_bits_beyond_a_type_are_refused() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(_first));
        bytes memory straight = abi.encode(updates, headers);
        for (uint256 field = 0; field < 4; ++field) {
            if (field == 2) continue;
            // The words of the first update follow two offsets and a length.
            bytes memory dirty = _withBit(straight, 32 * (3 + field), 200);
            Action memory action = certify(address(live), ILiveChain.redact.selector, keccak256(dirty));
            bytes memory data = abi.encodeCall(ILiveChain.redact, (updates, headers, action));
            // In the call the offset of the action comes third, behind the selector.
            (bool done,) = address(live).call(_withBit(data, 4 + 32 * (4 + field), 200));
            VM.assertFalse(done);
        }
        live.redact(updates, headers, certifyRedaction(updates, headers));
    }

    function _refused(Update[] memory updates, HeaderUpdate[] memory headers, bytes memory error_) private {
        Action memory action = certifyRedaction(updates, headers);
        VM.expectRevert(error_);
        live.redact(updates, headers, action);
    }

    function _replaced(ModelTransaction memory found, ModelTransaction memory before, Update memory change)
        private
        pure
    {
        VM.assertEq(found.ch, before.ch);
        VM.assertEq(found.owner, before.owner);
        VM.assertEq(abi.encode(found.references), abi.encode(before.references));
        VM.assertEq(found.uri, change.uri);
        VM.assertNotEq(found.uri, before.uri);
        VM.assertEq(found.version, 1);
        VM.assertEq(found.epoch, 1);
        VM.assertTrue(found.settled);
    }

    function _reopened(Header memory found, Header memory before) private pure {
        VM.assertEq(found.version, 1);
        before.version = 1;
        VM.assertEq(abi.encode(found), abi.encode(before));
    }

    function _invalidOpening(uint64 place, uint32 version) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ILiveChain.InvalidOpening.selector, place, version);
    }

    function _mismatch(uint256 index, uint32 given, uint32 expected) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ILiveChain.HeaderUpdateMismatch.selector, index, given, expected);
    }

    function _pair(Update memory a, Update memory b) private pure returns (Update[] memory both) {
        both = new Update[](2);
        (both[0], both[1]) = (a, b);
    }

    function _withBit(bytes memory data, uint256 offset, uint256 bit) private pure returns (bytes memory changed) {
        changed = bytes.concat(data);
        assembly ("memory-safe") {
            let word := add(add(changed, 0x20), offset)
            mstore(word, or(mload(word), shl(bit, 1)))
        }
    }
}
