// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Participants file requests and hand in their parts until the deadline; every account says where it is
/// reached.
contract RequestsTest is World {
    uint8 private constant DAG_PB = 0x70;
    uint64 private constant NOW = 100;
    bytes32 private constant DIGEST = keccak256("request");
    bytes32 private constant PART = keccak256("part");
    address private constant ANN = address(0xA11);
    address private constant BEN = address(0xBE2);
    address private constant KEY = address(0xCE4);

    IParticipantRegistry private _registry;

    function setUp() external {
        deploy();
        VM.roll(NOW);
        _registry =
            IParticipantRegistry(VM.deployCode("ParticipantRegistry.sol", abi.encode(committee, uint32(2), true)));
        VM.prank(ANN);
        _registry.join();
    }

    function testFuzz_a_request_is_filed_with_its_deadline(bytes32 digest, bool dagPb, uint64 blocks) external {
        uint8 codec = dagPb ? DAG_PB : RAW;
        blocks = 1 + blocks % _registry.MAX_BLOCKS();
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.Filed(1, ANN, digest, codec, NOW + blocks);
        _file(ANN, digest, codec, blocks);
        (bytes24 content, uint64 deadline) = _registry.filed(1);
        VM.assertEq(content, bytes24(keccak256(abi.encode(ANN, digest, codec, NOW + blocks))));
        VM.assertEq(deadline, NOW + blocks);
    }

    function test_requests_are_numbered_from_one() external {
        (bytes24 content, uint64 deadline) = _registry.filed(1);
        VM.assertEq(content, bytes32(0));
        VM.assertEq(deadline, 0);
        VM.prank(BEN);
        _registry.join();
        VM.assertEq(_file(ANN, DIGEST, RAW, 5), 1);
        VM.assertEq(_file(BEN, DIGEST, RAW, 5), 2);
        VM.assertEq(_file(ANN, DIGEST, RAW, 5), 3);
        VM.assertEq(_registry.requests(), 3);
    }

    function testFuzz_no_other_durations(uint64 blocks) external {
        uint64 most = _registry.MAX_BLOCKS();
        if (blocks != 0 && blocks <= most) blocks += most;
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidDuration.selector, blocks, most));
        _file(ANN, DIGEST, RAW, blocks);
    }

    function testFuzz_no_other_codecs(uint8 codec) external {
        VM.assume(codec != RAW && codec != DAG_PB);
        _file(ANN, DIGEST, RAW, 5);
        bytes memory refusal = abi.encodeWithSelector(IParticipantRegistry.UnknownCodec.selector, codec);
        VM.expectRevert(refusal);
        _file(ANN, DIGEST, codec, 5);
        VM.expectRevert(refusal);
        _handIn(ANN, 1, codec);
    }

    function testFuzz_parts_are_handed_in_until_the_deadline(uint64 blocks, uint64 later, uint64 position) external {
        blocks = 1 + blocks % _registry.MAX_BLOCKS();
        _file(ANN, DIGEST, RAW, blocks);
        VM.roll(NOW + later % (blocks + 1));
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.HandedIn(1, position, ANN, PART, DAG_PB);
        VM.prank(ANN);
        _registry.handIn(1, position, PART, DAG_PB);
        VM.roll(NOW + blocks);
        _handIn(ANN, 1, RAW);
        VM.roll(NOW + uint256(blocks) + 1 + later);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.RequestClosed.selector, 1, NOW + blocks));
        _handIn(ANN, 1, RAW);
    }

    function testFuzz_requests_that_were_not_filed(uint32 request) external {
        VM.assume(request != 1);
        _file(ANN, DIGEST, RAW, 5);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.UnknownRequest.selector, request));
        _handIn(ANN, request, RAW);
    }

    function testFuzz_others_file_and_hand_in_nothing(address other) external {
        VM.assume(other != ANN);
        _file(ANN, DIGEST, RAW, 5);
        _canDoNothing(other, IParticipantRegistry.NotJoined.selector);
    }

    function test_who_left_files_and_hands_in_nothing() external {
        _file(ANN, DIGEST, RAW, 5);
        VM.prank(ANN);
        _registry.leave();
        _canDoNothing(ANN, IParticipantRegistry.NotJoined.selector);
        VM.prank(BEN);
        _registry.join();
        _handIn(BEN, 1, RAW);
    }

    function test_who_is_barred_files_and_hands_in_nothing() external {
        _file(ANN, DIGEST, RAW, 5);
        _setBarred(true);
        _canDoNothing(ANN, IParticipantRegistry.ParticipantIsBarred.selector);
        _setBarred(false);
        _canDoNothing(ANN, IParticipantRegistry.NotJoined.selector);
        VM.prank(ANN);
        _registry.join();
        _handIn(ANN, 1, RAW);
    }

    function test_an_endpoint_is_announced_replaced_and_removed() external {
        _endpointIs(BEN, address(0), "");
        _announces(BEN, KEY, "https://ben.example:4433/ipfs/");
        _announces(BEN, ANN, "https://[2001:db8::1]");
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.Announced(BEN, address(0), "");
        VM.prank(BEN);
        _registry.announce(KEY, "");
        _endpointIs(BEN, address(0), "");
    }

    function test_an_account_announces_for_itself_only() external {
        _announces(ANN, KEY, "https://ann.example");
        _announces(BEN, BEN, "https://ben.example");
        _endpointIs(ANN, KEY, "https://ann.example");
    }

    function test_an_endpoint_has_a_key() external {
        _cannotAnnounce(address(0), "https://ben.example");
    }

    function testFuzz_a_url_has_at_most_200_bytes(uint8 length) external {
        bytes memory url = new bytes(uint256(length) + 1);
        for (uint256 i = 0; i < url.length; ++i) {
            url[i] = "a";
        }
        if (url.length > 200) _cannotAnnounce(KEY, string(url));
        else _announces(BEN, KEY, string(url));
    }

    function test_a_url_is_printable() external {
        for (uint256 code = 0; code < 256; ++code) {
            bytes memory url = "https://ben.example/path";
            url[code % url.length] = bytes1(uint8(code));
            if (code > 0x20 && code < 0x7f) _announces(BEN, KEY, string(url));
            else _cannotAnnounce(KEY, string(url));
        }
    }

    function _file(address by, bytes32 digest, uint8 codec, uint64 blocks) private returns (uint32) {
        VM.prank(by);
        return _registry.file(digest, codec, blocks);
    }

    function _handIn(address by, uint32 request, uint8 codec) private {
        VM.prank(by);
        _registry.handIn(request, 7, PART, codec);
    }

    function _canDoNothing(address account, bytes4 refusal) private {
        VM.expectRevert(abi.encodeWithSelector(refusal, account));
        _file(account, DIGEST, RAW, 5);
        VM.expectRevert(abi.encodeWithSelector(refusal, account));
        _handIn(account, 1, RAW);
    }

    function _setBarred(bool barred) private {
        bytes32 digest = keccak256(abi.encode(ANN, barred));
        bytes4 selector = IParticipantRegistry.setBarred.selector;
        _registry.setBarred(ANN, barred, certify(address(_registry), selector, digest));
    }

    function _announces(address account, address key, string memory url) private {
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.Announced(account, key, url);
        VM.prank(account);
        _registry.announce(key, url);
        _endpointIs(account, key, url);
    }

    function _cannotAnnounce(address key, string memory url) private {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidEndpoint.selector, BEN));
        VM.prank(BEN);
        _registry.announce(key, url);
    }

    function _endpointIs(address account, address key, string memory url) private view {
        (address foundKey, string memory foundUrl) = _registry.endpoint(account);
        VM.assertEq(foundKey, key);
        VM.assertEq(foundUrl, url);
    }
}
