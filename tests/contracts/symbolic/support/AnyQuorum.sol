// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate} from "../../../../contracts/interfaces/IQuorum.sol";

/// @notice A committee of which nothing is known: it has certified one decision for one contract, whichever they are.
contract AnyQuorum {
    /// @notice keccak256(abi.encode(executor, certificate)) of the certificate that a quorum signed.
    bytes32 public held;
    bytes32 public keyId;
    uint64 public currentEpoch;
    bytes32 public domainSeparator;
    mapping(uint64 epoch => mapping(uint256 index => address)) private _members;

    function requireQuorum(Certificate calldata certificate) external view returns (bytes32) {
        require(keccak256(abi.encode(msg.sender, certificate)) == held, "no quorum");
        return keyId;
    }

    function memberAt(uint64 epoch, uint256 index) external view returns (address) {
        return index < 256 ? _members[epoch][index] : address(0);
    }
}
