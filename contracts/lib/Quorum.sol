// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title Size of a quorum, and the digest that a vote signs (EIP-712)
library Quorum {
    bytes32 internal constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 internal constant DECISION_TYPEHASH =
        keccak256("Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)");

    /// @notice ceil(2n / 3), or n when the rule is unanimity. 1 -> 1, 4 -> 3, 7 -> 5, 10 -> 7, 15 -> 10.
    function size(uint256 members, bool unanimous) internal pure returns (uint256) {
        return unanimous ? members : (2 * members + 2) / 3;
    }

    /// @notice Number of set bits.
    function count(uint256 voters) internal pure returns (uint256 votes) {
        for (; voters != 0; voters &= voters - 1) {
            ++votes;
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
}
