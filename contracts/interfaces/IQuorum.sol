// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice A committee's decision on one proposal (Algorithm 1, "unified hash"), to be executed by one contract.
/// @dev Its signature is a Schnorr signature under the sum X of the voters' keys, over the EIP-712 digest of
/// `Certified(uint256 chainId,address executor,uint64 epoch,bytes32 proposal,bytes32 contentHash,uint256 voters)` under
/// the domain `("BlockFUL", "1", home chain id, home committee)` on every chain: nonce = address(sG - eX), e as in
/// Schnorr.sol. A certificate for one contract is useless for any other.
struct Certificate {
    /// The epoch whose members voted.
    uint64 epoch;
    /// Identifies the proposal; a contract executes a proposal once.
    bytes32 proposal;
    /// Root of the OpenZeppelin Merkle tree over the decided actions on all chains.
    bytes32 contentHash;
    /// Bit i is set if member i of the epoch's roster signed.
    uint256 voters;
    /// address(R) of the sum R of the voters' nonces.
    address nonce;
    /// Sum of the voters' responses, in [1, n).
    uint256 s;
}

/// @notice One chunk of one action, and its Merkle path to the certificate's content.
/// @dev Its leaf is `keccak256(bytes.concat(keccak256(abi.encode(block.chainid, target, selector, chunk, chunks,
/// digest))))`; each action defines its `digest`.
struct Action {
    Certificate certificate;
    uint32 chunk;
    uint32 chunks;
    bytes32[] path;
}

/// @notice A member's public key on secp256k1, affine; the member's address is the key's.
struct VotingKey {
    uint256 x;
    uint256 y;
}

/// @notice The members that may vote in an epoch, and the group key of its chameleon hashes.
struct Roster {
    /// Distinct voting keys, at most 256. Their source has checked a proof of possession of each, because a key derived
    /// from the others could cancel them in the sum.
    VotingKey[] members;
    /// Shares needed for a collision (t); 1 <= t <= members.length.
    uint32 threshold;
    /// The paper's stricter rule: every member must vote.
    bool unanimous;
    /// Group key Y, affine coordinates on secp256k1.
    uint256 keyX;
    uint256 keyY;
}

/// @title Epochs and quorum certificates, in a form that any chain can check
interface IQuorum {
    /// @notice A new epoch begins; certificates and openings of older epochs are no longer accepted.
    event EpochStarted(
        uint64 indexed epoch,
        bytes32 indexed keyId,
        address[] members,
        uint256 quorum,
        uint32 threshold,
        uint256 keyX,
        uint256 keyY
    );

    /// @notice The certificate is not of the current epoch, or no epoch has begun.
    error StaleEpoch(uint64 given, uint64 current);
    /// @notice Fewer members signed than the quorum requires.
    error QuorumNotReached(uint256 votes, uint256 needed);
    /// @notice A voter's bit is set beyond the roster.
    error UnknownMember(uint256 index, uint256 members);
    /// @notice The voters did not sign this decision for this contract.
    error InvalidCertificate(bytes32 digest, uint256 voters);
    /// @notice The roster breaks a rule named by `reason`.
    error InvalidRoster(string reason);

    /// @notice The epoch whose certificates are valid; the first is 1.
    function currentEpoch() external view returns (uint64);

    /// @notice Identifier `keccak256(Y.x || Y.y)` of an epoch's group key; 0 for an unknown epoch.
    /// @dev Its low 160 bits are the key's Ethereum address.
    function keyId(uint64 epoch) external view returns (bytes32);

    /// @notice The members of an epoch by index, its quorum and threshold, and its group key.
    function roster(uint64 epoch) external view returns (Roster memory members, uint256 quorum);

    /// @notice Voting address of the member at `index` of an epoch's roster; 0 beyond the roster.
    function memberAt(uint64 epoch, uint256 index) external view returns (address);

    /// @notice EIP-712 domain separator of votes and certificates.
    function domainSeparator() external view returns (bytes32);

    /// @notice The digest that a member's vote signs, `Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)`.
    /// @dev Members exchange votes off chain before they sign a certificate; two different votes convict their member.
    function decisionDigest(uint64 epoch, bytes32 proposal, bytes32 contentHash) external view returns (bytes32);

    /// @notice The digest that the voters of a certificate sign together, for `executor` on chain `chainId`.
    function certifiedDigest(Certificate calldata certificate, uint256 chainId, address executor)
        external
        view
        returns (bytes32);

    /// @notice Returns the current group key's identifier if a quorum signed `certificate` for the caller on this
    /// chain; always reverts in epoch 0.
    /// @dev Reverts with StaleEpoch, UnknownMember, QuorumNotReached or InvalidCertificate.
    function requireQuorum(Certificate calldata certificate) external view returns (bytes32 currentKeyId);
}
