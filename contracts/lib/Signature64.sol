// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title Compact signatures (EIP-2098)
library Signature64 {
    /// @notice The signer of `digest`; zero for an invalid signature, or one without 64 bytes.
    function recover(bytes32 digest, bytes calldata signature) internal pure returns (address signer) {
        if (signature.length != 64) return address(0);
        // slither-disable-next-line unused-return
        (signer,,) = ECDSA.tryRecover(digest, bytes32(signature[:32]), bytes32(signature[32:]));
    }
}
