// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VM} from "./support/Vm.sol";

/// @notice What is tested here is what Python deploys.
contract ArtifactsTest {
    /// @notice Forge's creation code is the shipped one up to the metadata.
    /// @dev The metadata (CBOR, its length in the last two bytes) hold a hash of the compiler's settings as they were
    /// written, and brownie and Forge spell the same remappings differently.
    function test_the_shipped_bytecode_is_the_tested_one() external view {
        string[9] memory names = [
            "AlarmRegistry",
            "AppointedCommittee",
            "ArchiveRegistry",
            "Committee",
            "LiveChain",
            "ParticipantRegistry",
            "QuorumMirror",
            "ReaderRegistry",
            "VrfVerifier"
        ];
        for (uint256 i = 0; i < names.length; ++i) {
            string memory shipped = VM.readFile(string.concat("blockful_py/chain/artifacts/", names[i], ".json"));
            bytes memory code = VM.parseJsonBytes(shipped, ".bytecode");
            bytes memory tested = VM.getCode(string.concat(names[i], ".sol"));
            VM.assertEq(tested.length, code.length, names[i]);
            VM.assertGe(tested.length, 500);
            VM.assertEq(keccak256(_withoutMetadata(tested)), keccak256(_withoutMetadata(code)), names[i]);
        }
    }

    function _withoutMetadata(bytes memory code) private pure returns (bytes memory) {
        uint256 size = (uint256(uint8(code[code.length - 2])) << 8) | uint8(code[code.length - 1]);
        size += 2;
        require(size < 64, "not the metadata of solc");
        assembly ("memory-safe") {
            mstore(code, sub(mload(code), size))
        }
        return code;
    }
}
