// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAcknowledgements} from "../interfaces/IAcknowledgements.sol";
import {Certificate} from "../interfaces/IQuorum.sol";
import {EpochRosters} from "./EpochRosters.sol";

/// @title Acknowledgements of mirrors, with their times
abstract contract Acknowledgements is EpochRosters, IAcknowledgements {
    struct Acknowledgement {
        /// Start of the acknowledging epoch and time of the acknowledgement, seconds; neither ever decreases.
        uint48 since;
        uint48 given;
    }

    /// @inheritdoc IAcknowledgements
    uint64 public override acknowledged;

    /// @dev Start of the current epoch, seconds.
    uint48 internal _epochSince;

    Acknowledgement[] private _acknowledgements;

    /// @inheritdoc IAcknowledgements
    function acknowledge(Certificate calldata certificate) external override {
        _requireQuorum(certificate, block.chainid, address(this));
        uint64 epoch = certificate.epoch;
        if (epoch == acknowledged) revert AlreadyAcknowledged(epoch);
        // leaf = H(H(chainid || this || selector || 0 || 1 || H(epoch)))
        bytes32 digest = keccak256(abi.encode(epoch));
        bytes32 inner = keccak256(abi.encode(block.chainid, address(this), msg.sig, 0, 1, digest));
        bytes32 leaf = keccak256(abi.encode(inner));
        if (certificate.contentHash != leaf) revert NotAnAcknowledgement(certificate.contentHash, leaf);
        acknowledged = epoch;
        _acknowledgements.push(Acknowledgement(_epochSince, uint48(block.timestamp)));
        emit MirrorsAcknowledged(epoch);
    }

    // slither-disable-start timestamp
    /// @dev Time of the first acknowledgement by an epoch that began at `time` or later, seconds; 0 without one.
    function _acknowledgedSince(uint256 time) internal view returns (uint256 given) {
        (uint256 low, uint256 high) = (0, _acknowledgements.length);
        while (low < high) {
            uint256 middle = (low + high) / 2;
            Acknowledgement storage each = _acknowledgements[middle];
            if (each.since < time) low = middle + 1;
            else (high, given) = (middle, each.given);
        }
    }
    // slither-disable-end timestamp
}
