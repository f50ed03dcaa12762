// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice A live chain of which nothing is known: the registries read its height only.
contract AnyHeight {
    uint32 public height;
}
