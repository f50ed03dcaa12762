// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {ILiveChain} from "./ILiveChain.sol";
import {Action} from "./IQuorum.sol";

/// @notice An account that may ask the committee for the keys of models.
struct Reader {
    /// Encryption key on secp256k1, affine; (0, 0) if not registered.
    uint256 keyX;
    uint256 keyY;
    /// Height of the first block that could be appended after the registration; 0 if not registered.
    uint32 joined;
    /// Whether the committee has barred it; a barred account is not registered and cannot register.
    bool barred;
}

/// @title Readers of models: their encryption keys, and the heights of their registrations
/// @notice Everybody can register and leave. The committee can only bar and readmit an account: it can neither register
/// a reader, nor change a key, nor move a reader's height.
/// @dev Heights are the live chain's, as in model positions, so "joined before this model was published" depends on no
/// clock and no node. A redaction keeps a model's position, so it moves no model into or out of a reader's reach.
interface IReaderRegistry is ICertified {
    event ReaderRegistered(address indexed reader, uint256 keyX, uint256 keyY, uint32 joined);
    event ReaderLeft(address indexed reader);
    event ReaderBarred(address indexed reader);
    event ReaderReadmitted(address indexed reader);

    error InvalidReaderKey(address reader);
    error ReaderIsBarred(address reader);
    error NotRegistered(address reader);
    /// @notice The account already has the requested state.
    error NothingToChange(address reader);

    /// @notice The live chain, whose heights count.
    function live() external view returns (ILiveChain);
    /// @notice The state of an account.
    function reader(address account) external view returns (Reader memory);

    /// @notice Registers the caller, or replaces its key and keeps its height.
    /// @dev Post: joined = live.height() + 1 for a caller that was not registered.
    /// Emits ReaderRegistered. Reverts with InvalidReaderKey or ReaderIsBarred.
    function register(uint256 keyX, uint256 keyY) external;
    /// @notice Removes the caller; its height is lost.
    /// @dev Emits ReaderLeft. Reverts with NotRegistered.
    function leave() external;
    /// @notice Bars an account, which removes a reader; or readmits it, without registering it.
    /// @dev Digest of the action: `keccak256(abi.encode(account, barred))`.
    /// Emits ReaderBarred or ReaderReadmitted. Reverts with NothingToChange.
    function setBarred(address account, bool barred, Action calldata action) external;
}
