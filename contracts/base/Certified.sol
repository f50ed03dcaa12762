// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../interfaces/ICertified.sol";
import {Action, IQuorum} from "../interfaces/IQuorum.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// @title Runs each chunk of a proposal once, in order, under a quorum certificate
abstract contract Certified is ICertified {
    struct Progress {
        uint32 done;
        uint32 chunks;
    }

    /// @inheritdoc ICertified
    IQuorum public immutable override quorum;

    mapping(bytes32 proposal => Progress) private _progress;

    constructor(IQuorum quorum_) {
        quorum = quorum_;
    }

    /// @inheritdoc ICertified
    function progress(bytes32 proposal) public view override returns (uint32 done, uint32 chunks) {
        Progress storage stored = _progress[proposal];
        return (stored.done, stored.chunks);
    }

    /// @dev Checks that the called function with `digest` is the next chunk of a certified proposal,
    /// and counts it as done. Post: done' = chunk + 1 = done + 1 <= chunks = chunks'.
    /// @return keyId Identifier of the current epoch's group key.
    function _execute(Action calldata action, bytes32 digest) internal returns (bytes32 keyId) {
        keyId = quorum.requireQuorum(action.certificate);

        // leaf = H(H(chainid || this || selector || chunk || chunks || digest))
        bytes32 inner =
            keccak256(abi.encode(block.chainid, address(this), msg.sig, action.chunk, action.chunks, digest));
        bytes32 leaf = keccak256(bytes.concat(inner));
        bytes32 contentHash = action.certificate.contentHash;
        if (!MerkleProof.verifyCalldata(action.path, contentHash, leaf)) revert NotCertified(leaf, contentHash);

        bytes32 proposal = action.certificate.proposal;
        (uint32 done, uint32 chunks) = progress(proposal);
        uint32 expectedChunks = chunks == 0 && action.chunks != 0 ? action.chunks : (chunks == 0 ? 1 : chunks);
        if (action.chunks != expectedChunks) revert ChunkCountChanged(proposal, action.chunks, expectedChunks);
        if (action.chunk != done || done == expectedChunks) revert ChunkOutOfOrder(proposal, action.chunk, done);
        _progress[proposal] = Progress(done + 1, action.chunks);
        emit ChunkExecuted(proposal, done + 1, action.chunks);
    }
}
