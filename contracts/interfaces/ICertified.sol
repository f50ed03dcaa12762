// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IEventCount} from "./IEventCount.sol";
import {IQuorum} from "./IQuorum.sol";

/// @title Actions that run once, in order, under a quorum certificate
interface ICertified is IEventCount {
    /// @notice One more chunk of a proposal is done; the proposal is settled when `done == chunks`.
    event ChunkExecuted(bytes32 indexed proposal, uint32 done, uint32 chunks);

    /// @notice The certificate's content does not include this action.
    error NotCertified(bytes32 leaf, bytes32 contentHash);
    /// @notice Chunks run in order, each once; `expected == chunks` means that the proposal is done.
    error ChunkOutOfOrder(bytes32 proposal, uint32 given, uint32 expected);
    /// @notice The chunk names another number of chunks than earlier ones, or none.
    error ChunkCountChanged(bytes32 proposal, uint32 given, uint32 expected);

    /// @notice The calldata are not the ABI encoding of the call: they have gaps or trailing bytes.
    error CalldataNotCanonical();

    /// @notice The contract that checks certificates.
    function quorum() external view returns (IQuorum);

    /// @notice Executed and total chunks of a proposal; (0, 0) before its first chunk, and for proposals without a
    /// count.
    function progress(bytes32 proposal) external view returns (uint32 done, uint32 chunks);
}
