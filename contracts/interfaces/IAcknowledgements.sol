// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate} from "./IQuorum.sol";

/// @title The committee's word that its mirrors stand at its epoch
/// @notice The home chain cannot see mirrors on other chains. A mirror that lags obeys the committee of its own epoch,
/// so the stake of that committee stays in until a later one says that the mirrors have left it behind.
interface IAcknowledgements {
    /// @notice A quorum of `epoch` saw the mirrors at `epoch`: no mirror obeys a committee before it.
    event MirrorsAcknowledged(uint64 indexed epoch);

    /// @notice `epoch` has said so before.
    error AlreadyAcknowledged(uint64 epoch);
    /// @notice The certificate is of other content.
    error NotAnAcknowledgement(bytes32 contentHash, bytes32 expected);

    /// @notice The newest epoch that acknowledged; 0 for none.
    function acknowledged() external view returns (uint64);

    /// @notice Records that the current committee saw the mirrors at its epoch. Anyone may submit it.
    /// @dev The content is the leaf of this function (see Action) in one chunk, with the digest
    /// `keccak256(abi.encode(epoch))`. Emits MirrorsAcknowledged. Reverts with AlreadyAcknowledged,
    /// NotAnAcknowledgement and as requireQuorum.
    function acknowledge(Certificate calldata certificate) external;
}
