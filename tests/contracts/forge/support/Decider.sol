// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Action, Certificate} from "../../../../contracts/interfaces/IQuorum.sol";
import {Members} from "./Members.sol";
import {MerkleTree} from "./MerkleTree.sol";

/// @notice Certifies actions: who votes, under which domain, in which epoch, for which chain.
abstract contract Decider {
    Members internal members;
    bytes32 internal domain;
    uint64 internal epoch = 1;
    uint256 internal actionChain = block.chainid;
    uint256 private _drawn;

    /// @notice A number that was never drawn before, the same in every run.
    function fresh() internal returns (uint256) {
        return uint256(keccak256(abi.encode("fresh", ++_drawn)));
    }

    /// @notice H(H(chain || target || selector || chunk || chunks || digest))
    function actionLeaf(address target, bytes4 selector, uint32 chunk, uint32 chunks, bytes32 digest)
        internal
        view
        returns (bytes32)
    {
        bytes32 inner = keccak256(abi.encode(actionChain, target, selector, chunk, chunks, digest));
        return keccak256(bytes.concat(inner));
    }

    /// @notice An action of one chunk with a quorum of votes.
    function certify(address target, bytes4 selector, bytes32 digest) internal returns (Action memory) {
        return certifyBy(target, selector, digest, members.enough());
    }

    /// @notice The same with the votes of `voters`, bits of members.
    function certifyBy(address target, bytes4 selector, bytes32 digest, uint256 voters)
        internal
        returns (Action memory)
    {
        bytes32[] memory digests = new bytes32[](1);
        digests[0] = digest;
        return certifyChunks(target, selector, digests, bytes32(fresh()), voters)[0];
    }

    /// @notice The chunks of one proposal.
    function certifyChunks(address target, bytes4 selector, bytes32[] memory digests, bytes32 proposal, uint256 voters)
        internal
        returns (Action[] memory actions)
    {
        uint32 chunks = uint32(digests.length);
        bytes32[] memory leaves = new bytes32[](chunks);
        for (uint32 chunk = 0; chunk < chunks; ++chunk) {
            leaves[chunk] = actionLeaf(target, selector, chunk, chunks, digests[chunk]);
        }
        bytes32[] memory tree = MerkleTree.build(leaves);
        Certificate memory certificate =
            members.certificate(domain, actionChain, target, epoch, proposal, tree[0], voters);
        actions = new Action[](chunks);
        for (uint32 chunk = 0; chunk < chunks; ++chunk) {
            actions[chunk] = Action(certificate, chunk, chunks, MerkleTree.path(tree, chunk));
        }
    }
}
