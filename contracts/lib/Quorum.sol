// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate} from "../interfaces/IQuorum.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title Size of a quorum, and the digests of votes and certificates (EIP-712)
library Quorum {
    bytes32 internal constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 internal constant DECISION_TYPEHASH =
        keccak256("Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)");
    bytes32 internal constant CERTIFIED_TYPEHASH = keccak256(
        "Certified(uint256 chainId,address executor,uint64 epoch,bytes32 proposal,bytes32 contentHash,uint256 voters)"
    );

    /// @notice ceil(2n / 3), or n if unanimous. 1 -> 1, 4 -> 3, 7 -> 5, 10 -> 7, 15 -> 10.
    function size(uint256 members, bool unanimous) internal pure returns (uint256) {
        unchecked {
            return unanimous ? members : (2 * members + 2) / 3;
        }
    }

    /// @notice Number of set bits: sums two, four and eight neighbours at once, then all bytes.
    function count(uint256 voters) internal pure returns (uint256 votes) {
        if (voters == type(uint256).max) return 256; // more than the byte that holds the sum
        unchecked {
            votes = voters - ((voters >> 1) & (type(uint256).max / 3));
            votes = (votes & (type(uint256).max / 5)) + ((votes >> 2) & (type(uint256).max / 5));
            votes = (votes + (votes >> 4)) & (type(uint256).max / 17);
            // A one in every byte, so that the highest byte of the product is the sum of all bytes.
            votes = (votes * 0x0101010101010101010101010101010101010101010101010101010101010101) >> 248;
        }
    }

    /// @notice Domain ("BlockFUL", "1", home chain id, home committee).
    function domainSeparator(uint256 homeChainId, address homeCommittee) internal pure returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, keccak256("BlockFUL"), keccak256("1"), homeChainId, homeCommittee));
    }

    /// @notice Digest of `Decision(epoch, proposal, contentHash)` under `domain`.
    function decisionDigest(bytes32 domain, uint64 epoch, bytes32 proposal, bytes32 contentHash)
        internal
        pure
        returns (bytes32)
    {
        bytes32 decision = keccak256(abi.encode(DECISION_TYPEHASH, epoch, proposal, contentHash));
        return MessageHashUtils.toTypedDataHash(domain, decision);
    }

    /// @notice Digest of `Certified(chainId, executor, epoch, proposal, contentHash, voters)` under `domain`.
    function certifiedDigest(bytes32 domain, Certificate calldata certificate, uint256 chainId, address executor)
        internal
        pure
        returns (bytes32)
    {
        bytes32 certified = keccak256(
            abi.encode(
                CERTIFIED_TYPEHASH,
                chainId,
                executor,
                certificate.epoch,
                certificate.proposal,
                certificate.contentHash,
                certificate.voters
            )
        );
        return MessageHashUtils.toTypedDataHash(domain, certified);
    }
}
