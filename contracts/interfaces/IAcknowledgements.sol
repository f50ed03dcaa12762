// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate} from "./IQuorum.sol";

/// @title The committee's statement that its mirrors have reached its epoch
/// @notice The home chain cannot see mirrors on other chains. A mirror that lags obeys the committee of its own epoch,
/// so the stake of that committee stays locked until a later one states that the mirrors have left it behind.
interface IAcknowledgements {
    /// @notice A quorum of `epoch` saw the mirrors at `epoch`: no mirror obeys an earlier committee.
    event MirrorsAcknowledged(uint64 indexed epoch);

    /// @notice `epoch` has acknowledged the mirrors before.
    error AlreadyAcknowledged(uint64 epoch);
    /// @notice The certificate has other content.
    error NotAnAcknowledgement(bytes32 contentHash, bytes32 expected);

    /// @notice The newest epoch that acknowledged the mirrors, or 0.
    function acknowledged() external view returns (uint64);

    /// @notice Records that the current committee saw the mirrors at its epoch. Anyone may submit it.
    /// @dev The content is the leaf of this function (see Action) in one chunk, with the digest
    /// `keccak256(abi.encode(epoch))`. Emits MirrorsAcknowledged. Reverts with AlreadyAcknowledged,
    /// NotAnAcknowledgement, and the errors of requireQuorum.
    function acknowledge(Certificate calldata certificate) external;
}
