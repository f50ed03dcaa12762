// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate, IQuorum} from "../../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../../forge/support/Vm.sol";
import {SVM} from "./Deploy.sol";

/// @notice The current epoch of a contract, in which a few members vote, whoever they are.
library AnyRoster {
    address private constant CODE = address(0x405);
    bytes32 private constant _CERTIFIED = keccak256(
        "Certified(uint256 chainId,address executor,uint64 epoch,bytes32 proposal,bytes32 contentHash,uint256 voters)"
    );

    /// @notice Seats `size` of them: slot 0 is epoch 64, size 16, unanimous 8, incomplete 8, roster 160 bits.
    function seat(IQuorum quorum, uint256 size) internal {
        VM.etch(CODE, bytes.concat(hex"00", SVM.createBytes(32 * (6 + 2 * size), "roster")));
        uint256 current = uint256(VM.load(address(quorum), 0));
        uint256 flags = (1 << 80) | (1 << 88) | type(uint64).max;
        current = (current & flags) | (size << 64) | (uint256(uint160(CODE)) << 96);
        VM.store(address(quorum), 0, bytes32(current));
        bytes32 place = keccak256(abi.encode(uint256(uint64(current)), 1));
        VM.store(address(quorum), place, bytes32(uint256(uint160(CODE))));
    }

    /// @notice Votes that a certificate of four needs: all under unanimity.
    function needed(IQuorum quorum) internal view returns (uint256) {
        return (uint256(VM.load(address(quorum), 0)) >> 80) & 1 == 1 ? 4 : 3;
    }

    /// @notice Number of members among the first four bits of `voters`.
    function count(uint256 voters) internal pure returns (uint256) {
        return (voters & 1) + ((voters >> 1) & 1) + ((voters >> 2) & 1) + ((voters >> 3) & 1);
    }

    /// @notice X, the sum of the voting keys: the second and the third word.
    function sum() internal view returns (uint256 x, uint256 y) {
        bytes memory words = new bytes(64);
        address code = CODE;
        assembly ("memory-safe") {
            extcodecopy(code, add(words, 0x20), 33, 64)
        }
        return abi.decode(words, (uint256, uint256));
    }

    /// @notice EIP-712 digest of `Certified(chainId, executor, epoch, proposal, contentHash, voters)`.
    function digest(IQuorum quorum, Certificate memory certificate, uint256 chainId, address executor)
        internal
        view
        returns (bytes32)
    {
        bytes32 content = keccak256(
            abi.encode(
                _CERTIFIED,
                chainId,
                executor,
                certificate.epoch,
                certificate.proposal,
                certificate.contentHash,
                certificate.voters
            )
        );
        return keccak256(abi.encodePacked(hex"1901", quorum.domainSeparator(), content));
    }
}
