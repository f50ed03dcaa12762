// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {LiveAppend} from "./base/LiveAppend.sol";
import {LiveRedact} from "./base/LiveRedact.sol";
import {LiveState} from "./base/LiveState.sol";
import {IQuorum} from "./interfaces/IQuorum.sol";

/// @title Redactable model transactions in linked blocks
contract LiveChain is LiveAppend, LiveRedact {
    constructor(IQuorum quorum_) LiveState(quorum_) {}
}
