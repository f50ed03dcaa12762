// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Opening} from "../../../contracts/interfaces/ILiveChain.sol";
import {BlockFields, ModelFields} from "../../../contracts/lib/BlockCode.sol";
import {Case, Harness} from "../solidity/Harness.sol";
import {Chameleon} from "./support/Chameleon.sol";
import {Curve, Point} from "./support/Curve.sol";
import {MerkleTree} from "./support/MerkleTree.sol";
import {VM} from "./support/Vm.sol";

/// @notice Chameleon hash, Merkle root, quorum sizes, trust, blocks as code and packed entries.
contract LibrariesTest {
    uint256 private constant MEMORY = 100;
    Harness private _harness;

    function setUp() external {
        _harness = Harness(VM.deployCode("Harness.sol"));
    }

    /// @notice By the trapdoor every number below n opens to every message.
    function testFuzz_openings_open(uint256 trapdoor, bytes32 label, bytes32 message, uint256 h, uint256 k) external {
        VM.assertTrue(_harness.verify(_case(trapdoor, label, message, h, k)));
    }

    /// @notice An opening with one field changed opens nothing.
    function testFuzz_spoilt_openings_do_not(uint256 trapdoor, bytes32 message, uint256 h, uint256 k, uint256 noise)
        external
    {
        VM.assume(noise != 0);
        Case memory item = _case(trapdoor, "label", message, h, k);
        for (uint256 field = 0; field < 6; ++field) {
            Case memory spoilt = abi.decode(abi.encode(item), (Case));
            if (field == 0) spoilt.keyId ^= bytes32(noise);
            else if (field == 1) spoilt.label ^= bytes32(noise);
            else if (field == 2) spoilt.message ^= bytes32(noise);
            else if (field == 3) spoilt.h ^= noise;
            else if (field == 4) spoilt.px ^= noise;
            else spoilt.s ^= noise;
            // keyId names its key by the low 160 bits in the equation, and by all bits in the challenge.
            VM.assertFalse(_harness.verify(spoilt));
        }
    }

    function testFuzz_labels_and_messages(uint64 position, uint32 version, bytes32 payload) external {
        VM.assume(position != 0 && version != type(uint32).max);
        bytes32 label = Chameleon.label(block.chainid, address(_harness), position);
        Case memory item = _case(7, label, Chameleon.message(version, payload), uint256(payload), position);
        VM.assertTrue(_harness.opens(item.keyId, position, version, payload, item.h, item.px, item.s));
        VM.assertFalse(_harness.opens(item.keyId, position, version + 1, payload, item.h, item.px, item.s));
        VM.assertFalse(_harness.opens(item.keyId, position - 1, version, payload, item.h, item.px, item.s));
        payload = keccak256(abi.encode(payload));
        VM.assertFalse(_harness.opens(item.keyId, position, version, payload, item.h, item.px, item.s));
    }

    function testFuzz_first_openings(uint256 trapdoor, uint64 position, bytes32 payload, uint256 noise) external {
        trapdoor = 1 + trapdoor % (Curve.N - 1);
        Point memory key = Curve.base(trapdoor);
        bytes32 keyId = keccak256(abi.encode(key.x, key.y));
        bytes32 label = Chameleon.label(block.chainid, address(_harness), position);
        bytes32 message = Chameleon.message(0, payload);
        (uint256 h, Opening memory first) = Chameleon.first(trapdoor, keyId, label, message, noise % 8);
        VM.assertTrue(_harness.opensFirst(keyId, position, payload, h, first.px, first.s));
        VM.assertTrue(_harness.opens(keyId, position, 0, payload, h, first.px, first.s));
        Opening memory other = Chameleon.open(trapdoor, keyId, label, message, h, 1 + noise % (Curve.N - 1));
        VM.assertTrue(_harness.opens(keyId, position, 0, payload, h, other.px, other.s));
        VM.assertFalse(_harness.opensFirst(keyId, position, payload, h, other.px, other.s));
        VM.assertFalse(_harness.opensFirst(keyId, position, ~payload, h, first.px, first.s));
        VM.assertFalse(_harness.opensFirst(keyId, position, payload, h ^ 1, first.px, first.s));
    }

    /// @notice r is the seed's, s is not; and the other way round: (P, s) and h are chosen for the equation alone.
    function testFuzz_half_of_a_first_opening(uint256 trapdoor, bytes32 payload, uint256 drawn) external {
        trapdoor = 1 + trapdoor % (Curve.N - 1);
        Point memory key = Curve.base(trapdoor);
        bytes32 keyId = keccak256(abi.encode(key.x, key.y));
        bytes32 label = Chameleon.label(block.chainid, address(_harness), 1);
        for (uint256 kind = 0; kind < 2; ++kind) {
            (uint256 h, Opening memory opening) =
                Chameleon.halfFirst(trapdoor, keyId, label, Chameleon.message(0, payload), kind == 0, drawn);
            VM.assertTrue(_harness.opens(keyId, 1, 0, payload, h, opening.px, opening.s));
            VM.assertFalse(_harness.opensFirst(keyId, 1, payload, h, opening.px, opening.s));
        }
    }

    function testFuzz_verification_costs_at_most_3800_gas(uint256 trapdoor, bytes32 message, uint256 h, uint256 k)
        external
    {
        VM.assertLe(_harness.gasOfVerify(_case(trapdoor, "label", message, h, k)), 3800);
    }

    function testFuzz_the_merkle_root_is_openzeppelins(uint256[] memory values) external view {
        VM.assume(values.length != 0);
        uint256[] memory places = new uint256[](values.length);
        bytes32[] memory leaves = new bytes32[](values.length);
        for (uint256 i = 0; i < values.length; ++i) {
            places[i] = (9 << 32) | i;
            leaves[i] = keccak256(bytes.concat(keccak256(abi.encode(places[i], values[i]))));
        }
        VM.assertEq(_harness.merkleRoot(places, values), MerkleTree.build(leaves)[0]);
    }

    function test_quorum_sizes() external view {
        uint16[2][6] memory table =
            [[uint16(1), 1], [uint16(4), 3], [uint16(7), 5], [uint16(10), 7], [uint16(15), 10], [uint16(20), 14]];
        for (uint256 i = 0; i < table.length; ++i) {
            VM.assertEq(_harness.quorumOf(table[i][0], false), table[i][1]);
        }
        for (uint256 size = 1; size <= 256; ++size) {
            uint256 quorum = _harness.quorumOf(size, false);
            VM.assertTrue(3 * quorum >= 2 * size && 3 * (quorum - 1) < 2 * size);
            VM.assertEq(_harness.quorumOf(size, true), size);
        }
    }

    function testFuzz_votes_are_counted(uint256 voters) external view {
        uint256 votes = 0;
        for (uint256 i = 0; i < 256; ++i) {
            votes += (voters >> i) & 1;
        }
        VM.assertEq(_harness.countOf(voters), votes);
    }

    function test_votes_at_the_edges_are_counted() external view {
        VM.assertEq(_harness.countOf(0), 0);
        VM.assertEq(_harness.countOf(1), 1);
        VM.assertEq(_harness.countOf(11), 3);
        VM.assertEq(_harness.countOf(2 ** 255), 1);
        VM.assertEq(_harness.countOf(type(uint256).max), 256);
        VM.assertEq(_harness.countOf(2 ** 200 - 2), 199);
    }

    function testFuzz_a_block_comes_back_from_code(BlockFields memory header, ModelFields[] memory models) external {
        VM.assume(models.length != 0 && models.length <= 128);
        uint64[][] memory lists = new uint64[][](models.length);
        uint256 references = 0;
        for (uint256 i = 0; i < models.length; ++i) {
            lists[i] = _list((3 * i + models[i].ch % 7) % 12);
            (models[i].start, models[i].end) = (uint16(references), uint16(references + lists[i].length));
            references += lists[i].length;
        }
        address code = _harness.store(header, models, lists);
        VM.assertEq(code.code.length, 107 + 54 * models.length + 8 * references);
        VM.assertEq(uint8(code.code[0]), 0);
        VM.assertEq(abi.encode(_harness.headerOf(code)), abi.encode(header));
        for (uint256 i = 0; i < models.length; ++i) {
            (ModelFields memory fields, uint64[] memory list, bytes32 hash) = _harness.modelOf(code, models.length, i);
            VM.assertEq(abi.encode(fields), abi.encode(models[i]));
            VM.assertEq(abi.encode(list), abi.encode(lists[i]));
            VM.assertEq(hash, keccak256(abi.encodePacked(list)));
        }
    }

    function test_codes_are_found_by_number() external view {
        uint32[11] memory numbers =
            [uint32(1), 2, 127, 128, 129, 255, 256, 65_535, 65_536, 16_777_216, type(uint32).max];
        for (uint256 i = 0; i < numbers.length; ++i) {
            VM.assertEq(_harness.locate(numbers[i]), VM.computeCreateAddress(address(_harness), numbers[i]));
        }
    }

    function testFuzz_an_entry_leaves_its_neighbours(
        uint256 slot,
        uint256 number,
        uint32 version,
        uint32 epoch,
        uint32 batch
    ) external view {
        (version, epoch, batch) = (version % (1 << 20), epoch % (1 << 20), batch % (1 << 23));
        uint8 codec = number % 2 == 0 ? 0x55 : 0x70;
        (uint256 changed, uint256[4] memory fields) = _harness.throughEntry(slot, number, version, epoch, codec, batch);
        VM.assertEq(abi.encode(fields), abi.encode(version, epoch, codec, batch));
        uint256 own = uint256(type(uint64).max) << (64 * (number % 4));
        VM.assertEq(changed & ~own, slot & ~own);
    }

    function test_the_score_is_the_mean_of_the_beta_distribution() external view {
        VM.assertEq(_harness.score(0, 0), 500_000);
        VM.assertEq(_harness.score(1, 0), 666_666);
        VM.assertEq(_harness.score(0, 2), 250_000);
    }

    function testFuzz_good_never_lowers_and_bad_never_raises(uint32 good, uint32 bad, uint8 more) external view {
        good %= uint32(MEMORY + 1);
        bad %= uint32(MEMORY + 1) - good;
        uint256 before = _harness.score(good, bad);
        (uint32 g, uint32 b) = _harness.remember(good, bad, more, 0);
        VM.assertEq(g, _least(good + more, MEMORY));
        VM.assertEq(b, _least(bad, MEMORY - g));
        VM.assertGe(_harness.score(g, b), before);
        (g, b) = _harness.remember(good, bad, 0, more);
        VM.assertEq(b, _least(bad + more, MEMORY));
        VM.assertEq(g, _least(good, MEMORY - b));
        VM.assertLe(_harness.score(g, b), before);
    }

    /// @notice From the best score, 61 bad experiences fall below 400,000, however long the past was.
    function test_a_long_good_past_ends_after_so_many_bad_experiences() external view {
        (uint32 good, uint32 bad) = (uint32(MEMORY), 0);
        for (uint256 i = 0; i < 10; ++i) {
            (good, bad) = _harness.remember(good, bad, 8, 0);
        }
        VM.assertEq(good, MEMORY);
        VM.assertEq(bad, 0);
        uint256 fall = 0;
        for (; _harness.score(good, bad) >= 400_000; ++fall) {
            (good, bad) = _harness.remember(good, bad, 0, 1);
        }
        VM.assertEq(fall, 61);
    }

    function _case(uint256 trapdoor, bytes32 label, bytes32 message, uint256 h, uint256 k)
        private
        returns (Case memory)
    {
        trapdoor = trapdoor % (Curve.N - 1) + 1;
        h %= Curve.N;
        Point memory key = Curve.base(trapdoor);
        bytes32 keyId = keccak256(abi.encode(key));
        Opening memory opening = Chameleon.open(trapdoor, keyId, label, message, h, k % (Curve.N - 1) + 1);
        return Case(keyId, label, message, h, opening.px, opening.s);
    }

    function _list(uint256 count) private pure returns (uint64[] memory list) {
        list = new uint64[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = uint64(((3 + i) << 32) | (2 * i));
        }
    }

    function _least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
