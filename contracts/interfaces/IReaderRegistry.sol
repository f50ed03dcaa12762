// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {ILiveChain} from "./ILiveChain.sol";
import {Action} from "./IQuorum.sol";

/// @notice An account that may ask the committee for the keys of models.
struct Reader {
    /// Encryption key on secp256k1, affine; (0, 0) when not registered.
    uint256 keyX;
    uint256 keyY;
    /// Height of the first block of models that can be appended after it joined; 0 when not registered.
    uint32 joined;
    /// The committee has barred it: it is not registered and cannot register.
    bool barred;
}

/// @title Readers of models: their encryption keys, and the heights since which they are registered
/// @notice Everybody registers and leaves alone. The committee can bar an account and lift that again, and
/// nothing else: it can neither register a reader, nor change a key, nor move a reader's height.
/// @dev Heights are the live chain's own, those of model positions: no clock and no node is trusted for
/// "joined before this model was published". A redaction keeps a model's position, so it moves no model
/// in or out of a reader's reach.
interface IReaderRegistry is ICertified {
    event ReaderRegistered(address indexed reader, uint256 keyX, uint256 keyY, uint32 joined);
    event ReaderLeft(address indexed reader);
    event ReaderBarred(address indexed reader);
    event ReaderReadmitted(address indexed reader);

    error InvalidReaderKey(address reader);
    error ReaderIsBarred(address reader);
    error NotRegistered(address reader);
    /// @notice The account already is as the action would have it.
    error NothingToChange(address reader);

    /// @notice The chain whose heights count.
    function live() external view returns (ILiveChain);
    /// @notice What is known of an account.
    function reader(address account) external view returns (Reader memory);

    /// @notice Registers the caller, or replaces its key; who replaces its key keeps its height.
    /// @dev Post: joined = live.height() + 1 for a caller that was not registered.
    /// Emits ReaderRegistered. Reverts with InvalidReaderKey or ReaderIsBarred.
    function register(uint256 keyX, uint256 keyY) external;
    /// @notice Removes the caller; its height is lost.
    /// @dev Emits ReaderLeft. Reverts with NotRegistered.
    function leave() external;
    /// @notice Bars an account, which removes it if it is registered; or readmits it, which does not
    /// register it.
    /// @dev Digest of the action: `keccak256(abi.encode(account, barred))`.
    /// Emits ReaderBarred or ReaderReadmitted. Reverts with NothingToChange.
    function setBarred(address account, bool barred, Action calldata action) external;
}
