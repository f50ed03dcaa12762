// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {FiledRequest, IParticipantRegistry} from "../../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action} from "../../../../contracts/interfaces/IQuorum.sol";
import {VM} from "./Vm.sol";
import {World} from "./World.sol";

/// @notice A registry of participants, what they do, and what the committee decides.
abstract contract RegistryScene is World {
    uint64 internal constant NOW = 100;
    uint8 internal constant DAG_PB = 0x70;
    bytes32 internal constant DIGEST = keccak256("request");
    bytes32 internal constant PART = keccak256("part");
    address internal constant ANN = address(0xA11);
    address internal constant BEN = address(0xBE2);

    IParticipantRegistry internal registry;

    function deployRegistry(uint32 seats, bool open) internal {
        registry =
            IParticipantRegistry(VM.deployCode("ParticipantRegistry.sol", abi.encode(committee, live, seats, open)));
    }

    function join(address account) internal {
        VM.prank(account);
        registry.join();
    }

    function leave(address account) internal {
        VM.prank(account);
        registry.leave();
    }

    function setBarred(address account, bool barred) internal {
        bytes32 digest = keccak256(abi.encode(account, barred));
        registry.setBarred(account, barred, certify(address(registry), IParticipantRegistry.setBarred.selector, digest));
    }

    function file(address by) internal returns (uint32) {
        return file(by, DIGEST, RAW, 5);
    }

    function file(address by, bytes32 digest, uint8 codec, uint64 duration) internal returns (uint32) {
        VM.prank(by);
        return registry.file(digest, codec, duration);
    }

    function handIn(address by, uint32 request) internal {
        VM.prank(by);
        registry.handIn(request, 7, PART, RAW);
    }

    function decide(uint32 request, bool admitted) internal {
        registry.decide(request, admitted, certifyDecision(request, admitted));
    }

    function certifyDecision(uint32 request, bool admitted) internal returns (Action memory) {
        return certify(address(registry), IParticipantRegistry.decide.selector, decisionDigest(request, admitted));
    }

    function decisionDigest(uint32 request, bool admitted) internal view returns (bytes32) {
        return keccak256(abi.encode(request, registry.filed(request).content, admitted));
    }

    /// @notice First 24 bytes of H(by || digest || codec || blocks || height).
    function contentOf(address by, bytes32 digest, uint8 codec, uint64 duration, uint32 height)
        internal
        pure
        returns (bytes24)
    {
        return bytes24(keccak256(abi.encode(by, digest, codec, duration, height)));
    }

    function filedIs(uint32 request, FiledRequest memory expected) internal view {
        VM.assertEq(abi.encode(registry.filed(request)), abi.encode(expected));
    }
}
