// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {RegistryScene} from "./support/RegistryScene.sol";
import {VM} from "./support/Vm.sol";

/// @notice Every account declares files on models; readers judge who may speak.
contract DeclarationsTest is RegistryScene {
    function setUp() external {
        deploy();
        deployRegistry(2, true);
    }

    function testFuzz_an_account_declares_in_its_own_name(address by, uint64 position, bytes32 digest) external {
        VM.expectEmit(address(registry));
        emit IParticipantRegistry.Declared(position, by, digest, RAW);
        VM.prank(by);
        registry.declare(position, digest, RAW);
    }

    function testFuzz_a_file_has_a_known_codec(uint8 codec) external {
        if (codec != RAW && codec != DAG_PB) {
            VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.UnknownCodec.selector, codec));
        }
        registry.declare(1, PART, codec);
    }

    function test_a_declaration_takes_no_place_and_no_budget() external {
        join(ANN);
        for (uint256 i = 0; i < 8; ++i) {
            VM.prank(ANN);
            registry.declare(7, PART, RAW);
        }
        file(ANN);
        assert(registry.requests() == 1 && registry.eventCount() == 10);
    }
}
