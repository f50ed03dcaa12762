// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../interfaces/ICertified.sol";
import {IEventCount} from "../interfaces/IEventCount.sol";
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

    /// @inheritdoc IEventCount
    /// @dev Its slot has room for the first variables of the inheriting contract.
    uint64 public override eventCount;

    constructor(IQuorum quorum_) {
        quorum = quorum_;
    }

    /// @inheritdoc ICertified
    function progress(bytes32 proposal) public view override returns (uint32 done, uint32 chunks) {
        Progress storage stored = _progress[proposal];
        return (stored.done, stored.chunks);
    }

    /// @dev Checks that the called function with `digest` is the next chunk of a certified proposal, and counts it as
    /// done. Post: done' = chunk + 1 = done + 1 <= chunks = chunks'.
    /// @return keyId Identifier of the current epoch's group key.
    function _execute(Action calldata action, bytes32 digest) internal returns (bytes32 keyId) {
        keyId = _requireCertified(action, digest);
        bytes32 proposal = action.certificate.proposal;
        (uint32 done, uint32 chunks) = progress(proposal);
        uint32 expectedChunks = chunks == 0 && action.chunks != 0 ? action.chunks : (chunks == 0 ? 1 : chunks);
        if (action.chunks != expectedChunks) revert ChunkCountChanged(proposal, action.chunks, expectedChunks);
        if (action.chunk != done || done == expectedChunks) revert ChunkOutOfOrder(proposal, action.chunk, done);
        _progress[proposal] = Progress(done + 1, action.chunks);
        emit ChunkExecuted(proposal, done + 1, action.chunks);
        _logged(1);
    }

    /// @dev As `_execute`, for an action that fits one state only and so cannot run twice. A proposal of one chunk then
    /// takes no slot; the action's own events name it.
    function _executeUncounted(Action calldata action, bytes32 digest) internal returns (bytes32 keyId) {
        if (action.chunks != 1) return _execute(action, digest);
        keyId = _requireCertified(action, digest);
        if (action.chunk != 0) revert ChunkOutOfOrder(action.certificate.proposal, action.chunk, 0);
    }

    /// @dev Counts emitted events; this contract must count all of them, and nobody can emit 2^64.
    function _logged(uint256 events) internal {
        unchecked {
            eventCount += uint64(events);
        }
    }

    /// @dev Reverts unless the calldata are `canonical`, the ABI encoding of the decoded call.
    function _requireCanonical(bytes memory canonical) internal pure {
        if (keccak256(canonical) != keccak256(msg.data)) revert CalldataNotCanonical();
    }

    /// @dev Reverts unless the encoding of `action` starts at `start` of the calldata, has no gaps and ends the
    /// calldata. Spare bits of values are refused when the values are read.
    function _requireCanonicalEnd(Action calldata action, uint256 start) internal pure {
        bytes32[] calldata path = action.path;
        bool canonical;
        assembly ("memory-safe") {
            // The certificate's six words, three more, the length of the path, and the path.
            canonical := and(eq(action, start), eq(path.offset, add(start, 0x140)))
            canonical := and(canonical, eq(calldatasize(), add(path.offset, shl(5, path.length))))
        }
        if (!canonical) revert CalldataNotCanonical();
    }

    /// @dev Checks that a quorum certified the called function with `digest` as this chunk of the proposal.
    function _requireCertified(Action calldata action, bytes32 digest) private view returns (bytes32 keyId) {
        keyId = quorum.requireQuorum(action.certificate);
        bytes32 leaf = _leaf(action.chunk, action.chunks, digest);
        bytes32 contentHash = action.certificate.contentHash;
        if (!MerkleProof.verifyCalldata(action.path, contentHash, leaf)) revert NotCertified(leaf, contentHash);
    }

    /// @dev leaf = H(H(chainid || this || selector || chunk || chunks || digest)), words of 32 bytes
    function _leaf(uint256 chunk, uint256 chunks, bytes32 digest) private view returns (bytes32 leaf) {
        bytes32 selector = msg.sig;
        assembly ("memory-safe") {
            let words := mload(0x40)
            mstore(words, chainid())
            mstore(add(words, 0x20), address())
            mstore(add(words, 0x40), selector)
            mstore(add(words, 0x60), chunk)
            mstore(add(words, 0x80), chunks)
            mstore(add(words, 0xa0), digest)
            mstore(0x00, keccak256(words, 0xc0))
            leaf := keccak256(0x00, 0x20)
        }
    }
}
