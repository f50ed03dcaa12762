// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IEventCount} from "./IEventCount.sol";
import {IQuorum} from "./IQuorum.sol";

/// @title Actions that run once, in order, under a quorum certificate
interface ICertified is IEventCount {
    /// @notice One more chunk of a proposal is done; it is settled when `done == chunks`.
    event ChunkExecuted(bytes32 indexed proposal, uint32 done, uint32 chunks);

    /// @notice The certificate's content does not hold this action.
    error NotCertified(bytes32 leaf, bytes32 contentHash);
    /// @notice Chunks run in order, each once; `expected == chunks` means the proposal is done.
    error ChunkOutOfOrder(bytes32 proposal, uint32 given, uint32 expected);
    /// @notice Every chunk of a proposal names the same number of chunks, at least one.
    error ChunkCountChanged(bytes32 proposal, uint32 given, uint32 expected);

    /// @notice The calldata are not the ABI encoding of the call: there are gaps in it, or bytes behind it.
    error CalldataNotCanonical();

    /// @notice The contract that checks certificates.
    function quorum() external view returns (IQuorum);

    /// @notice Chunks done and chunks in all of a proposal; (0, 0) when it has not begun, or is not counted.
    function progress(bytes32 proposal) external view returns (uint32 done, uint32 chunks);
}
