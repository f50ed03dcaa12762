// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certified} from "./base/Certified.sol";
import {ILiveChain} from "./interfaces/ILiveChain.sol";
import {Action, IQuorum} from "./interfaces/IQuorum.sol";
import {IReaderRegistry, Reader} from "./interfaces/IReaderRegistry.sol";
import {Secp256k1} from "./lib/Secp256k1.sol";

/// @title Readers of models: their encryption keys, and the heights of their registrations
contract ReaderRegistry is IReaderRegistry, Certified {
    /// @inheritdoc IReaderRegistry
    ILiveChain public immutable override live;

    mapping(address account => Reader) private _readers;

    constructor(IQuorum quorum_, ILiveChain live_) Certified(quorum_) {
        live = live_;
    }

    /// @inheritdoc IReaderRegistry
    function reader(address account) external view override returns (Reader memory) {
        return _readers[account];
    }

    /// @inheritdoc IReaderRegistry
    function register(uint256 keyX, uint256 keyY) external override {
        Reader storage found = _readers[msg.sender];
        if (found.barred) revert ReaderIsBarred(msg.sender);
        if (!Secp256k1.isOnCurve(keyX, keyY)) revert InvalidReaderKey(msg.sender);
        uint32 joined = found.joined == 0 ? live.height() + 1 : found.joined;
        _readers[msg.sender] = Reader(keyX, keyY, joined, false);
        emit ReaderRegistered(msg.sender, keyX, keyY, joined);
        _logged(1);
    }

    /// @inheritdoc IReaderRegistry
    function leave() external override {
        if (_readers[msg.sender].joined == 0) revert NotRegistered(msg.sender);
        delete _readers[msg.sender];
        emit ReaderLeft(msg.sender);
        _logged(1);
    }

    /// @inheritdoc IReaderRegistry
    function setBarred(address account, bool barred, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.setBarred, (account, barred, action)));
        _execute(action, keccak256(abi.encode(account, barred)));
        if (_readers[account].barred == barred) revert NothingToChange(account);
        _readers[account] = Reader(0, 0, 0, barred);
        if (barred) emit ReaderBarred(account);
        else emit ReaderReadmitted(account);
        _logged(1);
    }
}
