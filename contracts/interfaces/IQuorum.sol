// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice Votes of a committee on one decision (Algorithm 1, "unified hash").
/// @dev A vote is an EIP-712 signature of
/// `Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)` under the domain
/// `("BlockFUL", "1", home chain id, home committee)`, whichever chain checks it.
struct Certificate {
    /// The epoch whose members voted.
    uint64 epoch;
    /// Identifies the proposal; a contract executes a proposal once.
    bytes32 proposal;
    /// Root of the OpenZeppelin Merkle tree over the actions decided on, on all chains.
    bytes32 contentHash;
    /// Bit i is set when member i of the epoch's roster voted.
    uint256 voters;
    /// One 64-byte EIP-2098 signature a set bit, by ascending member index.
    bytes votes;
}

/// @notice One chunk of one action, and the path that ties it to the certificate.
/// @dev Its leaf is `keccak256(bytes.concat(keccak256(abi.encode(block.chainid, target,
/// selector, chunk, chunks, digest))))`, where `digest` is defined by each action.
struct Action {
    Certificate certificate;
    uint32 chunk;
    uint32 chunks;
    bytes32[] path;
}

/// @notice The members that may vote in an epoch, and the group key of its chameleon hashes.
struct Roster {
    /// Voting addresses, at most 256, none twice, none zero.
    address[] members;
    /// Shares needed for a collision (t); 1 <= t <= members.length.
    uint32 threshold;
    /// The paper's stricter rule: every member must vote.
    bool unanimous;
    /// Group key Y, affine coordinates on secp256k1.
    uint256 keyX;
    uint256 keyY;
}

/// @title Epochs and quorum certificates, as any chain can check them
interface IQuorum {
    /// @notice A new epoch begins; certificates and openings of older ones are no longer accepted.
    event EpochStarted(
        uint64 indexed epoch,
        bytes32 indexed keyId,
        address[] members,
        uint256 quorum,
        uint32 threshold,
        uint256 keyX,
        uint256 keyY
    );

    /// @notice The certificate is of another epoch than the current one, or there is none yet.
    error StaleEpoch(uint64 given, uint64 current);
    /// @notice Fewer members voted than the quorum asks for.
    error QuorumNotReached(uint256 votes, uint256 needed);
    /// @notice A voter's bit is set beyond the roster.
    error UnknownMember(uint256 index, uint256 members);
    /// @notice `votes` is not 64 bytes for each set bit of `voters`.
    error MalformedVotes(uint256 length, uint256 expected);
    /// @notice The signature at `index` is not that member's over this decision.
    error InvalidVote(uint256 index, address recovered, address expected);
    /// @notice The roster breaks a rule named by `reason`.
    error InvalidRoster(string reason);

    /// @notice The epoch whose certificates count; the first is 1.
    function currentEpoch() external view returns (uint64);

    /// @notice Identifier `keccak256(Y.x || Y.y)` of an epoch's group key; 0 for an unknown epoch.
    /// @dev Its low 160 bits are the key's Ethereum address.
    function keyId(uint64 epoch) external view returns (bytes32);

    /// @notice The members of an epoch by index, its quorum and threshold, and its group key.
    function roster(uint64 epoch) external view returns (Roster memory members, uint256 quorum);

    /// @notice EIP-712 domain separator that votes are bound to.
    function domainSeparator() external view returns (bytes32);

    /// @notice The digest that members sign.
    function decisionDigest(uint64 epoch, bytes32 proposal, bytes32 contentHash) external view returns (bytes32);

    /// @notice Returns the current group key's identifier when `certificate` carries a quorum; never in epoch 0.
    /// @dev Reverts with StaleEpoch, UnknownMember, MalformedVotes, InvalidVote or QuorumNotReached.
    function requireQuorum(Certificate calldata certificate) external view returns (bytes32 currentKeyId);
}
