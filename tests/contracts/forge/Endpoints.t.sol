// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {RegistryScene} from "./support/RegistryScene.sol";
import {VM} from "./support/Vm.sol";

/// @notice Every account says where it is reached.
contract EndpointsTest is RegistryScene {
    address private constant KEY = address(0xCE4);

    function setUp() external {
        deploy();
        deployRegistry(2, true);
    }

    function test_an_endpoint_is_announced_replaced_and_removed() external {
        _endpointIs(BEN, address(0), "");
        _announces(BEN, KEY, "https://ben.example:4433/ipfs/");
        _announces(BEN, ANN, "https://[2001:db8::1]");
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.Announced(BEN, address(0), "");
        VM.prank(BEN);
        registry.announce(KEY, "");
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

    function _announces(address account, address key, string memory url) private {
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.Announced(account, key, url);
        VM.prank(account);
        registry.announce(key, url);
        _endpointIs(account, key, url);
    }

    function _cannotAnnounce(address key, string memory url) private {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidEndpoint.selector, BEN));
        VM.prank(BEN);
        registry.announce(key, url);
    }

    function _endpointIs(address account, address key, string memory url) private view {
        (address foundKey, string memory foundUrl) = registry.endpoint(account);
        VM.assertEq(foundKey, key);
        VM.assertEq(foundUrl, url);
    }
}
