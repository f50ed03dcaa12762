// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {Action} from "./IQuorum.sol";

/// @notice Opening of a chameleon hash: x of the point P with even y, and s.
struct Opening {
    uint256 px;
    uint256 s;
}

/// @notice A model in its first published version.
struct Publication {
    /// Chameleon hash h of the transaction; never changes.
    uint256 ch;
    /// A first opening (ChameleonHash).
    Opening opening;
    /// sha2-256 digest of the CIDv1 of the model node, and its codec (0x55 raw, 0x70 dag-pb).
    bytes32 uri;
    uint8 codec;
    /// Account that signed the model node.
    address owner;
    /// Packed positions of the referenced models, in earlier blocks, strictly ascending.
    uint64[] references;
}

/// @notice A proposed block.
struct NewBlock {
    /// `blockHash` of the head it extends.
    bytes32 parentHash;
    /// Seconds; not before the parent's time, and at most MAX_DRIFT ahead of the chain's clock.
    uint64 timestamp;
    /// Chameleon hash of the header, over its version.
    uint256 ch;
    /// A first opening (ChameleonHash).
    Opening opening;
    Publication[] publications;
}

/// @notice Replacement of one model's URI.
struct Update {
    uint64 position;
    /// The transaction's version plus one.
    uint32 version;
    bytes32 uri;
    uint8 codec;
    Opening opening;
}

/// @notice New opening of the header of a block with a replaced model.
struct HeaderUpdate {
    uint32 height;
    /// The header's version plus one.
    uint32 version;
    Opening opening;
}

/// @notice The current state of a transaction.
struct ModelTransaction {
    /// Its opening in version 0 follows from the content (ChameleonHash); a later one is in its ModelRedacted event.
    uint256 ch;
    bytes32 uri;
    uint8 codec;
    uint32 version;
    /// Epoch of the group key that this version's opening is valid for.
    uint64 epoch;
    address owner;
    /// False while an unfinished redaction in several chunks has touched it.
    bool settled;
    uint64[] references;
}

/// @notice The current state of a block header.
struct Header {
    bytes32 parentHash;
    /// Its opening in version 0 follows from the content (ChameleonHash); a later one is in its HeaderRedacted event.
    uint256 ch;
    uint32 version;
    uint64 epoch;
    bytes32 merkleRoot;
    uint64 timestamp;
    uint32 txCount;
}

/// @title Redactable model transactions in linked blocks (the paper, section V)
/// @notice A position is `height << 32 | index`; a header's own position has index 2^32 - 1.
///
/// The chameleon hash of a transaction is over
///   label   = H(DST_label || chainid || this || position)
///   message = H(DST_message || version || payload)
///   payload = keccak256(abi.encode(uri, codec, owner, referencesHash))
///   referencesHash = keccak256(abi.encodePacked(uint256(reference)...))
/// The chameleon hash of a header is over the same with its own position and
///   payload = keccak256(abi.encode(parentHash, merkleRoot, timestamp, txCount)).
///
/// merkleRoot is the root of OpenZeppelin's standard tree, leaves in block order, over
///   leaf = keccak256(bytes.concat(keccak256(abi.encode(uint256(position), bytes32(ch))))).
/// blockHash = keccak256(abi.encode(parentHash, ch, merkleRoot, timestamp)), over constant fields only.
/// The genesis header, height 0, has no transactions and
///   blockHash(0) = keccak256(abi.encode(chainid, this)).
///
/// A proposal of one chunk fits one head or one version of each model, so it cannot run twice and `progress` does not
/// count it. Its BlockAppended or HeaderRedacted event shows its execution.
interface ILiveChain is ICertified {
    event BlockAppended(
        uint32 indexed height,
        bytes32 indexed proposal,
        bytes32 blockHash,
        bytes32 merkleRoot,
        uint32 txCount,
        uint64 epoch
    );
    event ModelPublished(uint64 indexed position, address indexed owner, bytes32 uri, uint8 codec, uint64[] references);
    event HeaderRedacted(uint32 indexed height, bytes32 indexed proposal, uint32 version, Opening opening);
    /// @dev Follows the HeaderRedacted event of its block, which names the proposal.
    event ModelRedacted(uint64 indexed position, uint32 version, bytes32 uri, uint8 codec, Opening opening);

    /// @notice The block does not extend the head.
    error ParentMismatch(bytes32 given, bytes32 head);
    /// @notice The block's time is before its parent's, or too far ahead of the chain's clock.
    error TimestampOutOfRange(uint64 given, uint64 earliest, uint64 latest);
    /// @notice A block has 1 to MAX_BLOCK_TRANSACTIONS models.
    error InvalidBlockSize(uint256 given, uint256 max);
    /// @notice The block's code, including all references, exceeds the maximum number of bytes (EIP-170).
    error BlockTooLong(uint256 given, uint256 max);
    /// @notice The gas did not suffice to store the block's code.
    error BlockNotStored();
    /// @notice The codec is neither raw (0x55) nor dag-pb (0x70).
    error UnknownCodec(uint8 codec);
    /// @notice The owner of a model is the zero address.
    error OwnerMissing(uint64 position);
    /// @notice A reference does not name a model in an earlier block.
    error UnknownReference(uint64 position, uint64 referenced);
    /// @notice References are not strictly ascending.
    error ReferencesNotAscending(uint64 position, uint64 referenced);
    /// @notice The opening does not open the chameleon hash for this place, version and content.
    error InvalidOpening(uint64 position, uint32 version);
    /// @notice There is no model at this position.
    error UnknownPosition(uint64 position);
    /// @notice The version is not the stored one plus one.
    error VersionNotNext(uint64 position, uint32 given, uint32 expected);
    /// @notice A counter has reached its maximum: 2^20 - 1 for versions and epochs, 2^23 - 1 for proposals in several
    /// chunks.
    error CounterExhausted();
    /// @notice Updates are not strictly ascending by position.
    error PositionsNotAscending(uint64 position, uint64 previous);
    /// @notice The redaction has no update.
    error NothingToRedact();
    /// @notice The header updates are not exactly for the blocks of the updates, ascending.
    error HeaderUpdateMismatch(uint256 index, uint32 given, uint32 expected);

    // solhint-disable-next-line func-name-mixedcase
    function MAX_BLOCK_TRANSACTIONS() external view returns (uint256);
    /// @notice Maximum seconds that a block's time may be ahead of the chain's clock.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_DRIFT() external view returns (uint64);

    /// @notice Height of the newest block; 0 if only the genesis header exists.
    function height() external view returns (uint32);
    /// @notice Hash of the block at `height_`, over its constant fields.
    function blockHash(uint32 height_) external view returns (bytes32);
    /// @notice Header at `height_`. Reverts with UnknownPosition.
    function header(uint32 height_) external view returns (Header memory);
    /// @notice Transaction at `position`. Reverts with UnknownPosition.
    function transaction(uint64 position) external view returns (ModelTransaction memory);
    /// @notice Transactions at `positions`, in one call.
    function transactions(uint64[] calldata positions) external view returns (ModelTransaction[] memory);

    /// @notice Appends one block of models (one chunk of the proposal).
    /// @dev Digest of the action: `keccak256(abi.encode(newBlock))`. Versions start at 0. Emits ModelPublished for each
    /// model, BlockAppended, and ChunkExecuted if there are several chunks. All or nothing.
    function append(NewBlock calldata newBlock, Action calldata action) external;

    /// @notice Replaces models and re-opens the headers of their blocks (one chunk of the proposal).
    /// @dev Digest of the action: `keccak256(abi.encode(updates, headerUpdates))`. Emits ChunkExecuted if there are
    /// several chunks, then for each block HeaderRedacted and ModelRedacted for each of its models. All or nothing.
    function redact(Update[] calldata updates, HeaderUpdate[] calldata headerUpdates, Action calldata action) external;
}
