// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice The phase of an election.
enum Phase {
    Idle,
    Commit,
    Reveal,
    Prove,
    Confirm
}

/// @notice The state of an election.
struct Election {
    Phase phase;
    /// The epoch of the committee to be elected.
    uint64 epoch;
    /// Number of seeds tried, over all elections.
    uint32 draw;
    /// Number of the key generation, from 1, in phase Confirm.
    uint8 attempt;
    /// End of the phase, seconds.
    uint64 deadline;
    /// Candidates that committed, revealed and proved in this draw.
    uint32 committed;
    uint32 revealed;
    uint32 proven;
    /// XOR of keccak256(abi.encode(registrant, secret)).
    bytes32 fold;
    /// The newest seed: keccak256(abi.encode(DST, chainid, this, epoch, draw, previous seed, fold)),
    /// DST = keccak256("BlockFUL/sortition/v1/seed"). Each seed follows from the previous one.
    bytes32 seed;
}

/// @title Sortition of the next committee
/// @notice Commit and reveal give a seed; VRF outputs for it give an order; the first in order confirm a group key.
///
/// Every candidate commits to a secret, then all reveal. The seed is drawn only if all do. Otherwise the draw is void:
/// candidates that withheld are barred from this epoch and lose trust and part of their stake, and the rest draw again.
/// So the last to reveal does not choose between seeds: it may give up a candidate for one fresh seed that it cannot
/// foresee. An owner of k candidates sees at most k + 1 seeds, one after the other, instead of choosing from 2^k. The
/// seed includes no block hash, because the maker of that block could try contents. VRF keys are registered before the
/// commit and have one output for each seed; withheld proofs and keys cost the same.
interface IElection {
    /// @notice A phase of an election began.
    event PhaseStarted(uint64 indexed epoch, uint32 indexed draw, Phase phase, uint256 deadline);
    /// @notice A candidate committed to its secret.
    event Committed(uint32 indexed draw, address indexed registrant, bytes32 commitment);
    /// @notice A candidate lost its place in a full draw to one with more weight; it lost nothing else.
    event Displaced(uint32 indexed draw, address indexed registrant, address indexed by);
    /// @notice A candidate revealed its secret.
    event Revealed(uint32 indexed draw, address indexed registrant, bytes32 secret);
    /// @notice All secrets are known.
    event SeedDrawn(uint64 indexed epoch, uint32 indexed draw, bytes32 seed, uint256 alpha);
    /// @notice A candidate proved its output.
    event Proved(uint32 indexed draw, address indexed registrant, uint256 output);
    /// @notice A candidate withheld its secret, its proof, or the key that most members confirmed; in the last case,
    /// its place stays empty.
    event Withheld(uint32 indexed draw, address indexed registrant, Phase phase);
    /// @notice Voting addresses of the elected, by ascending output.
    event Elected(uint64 indexed epoch, uint32 indexed draw, address[] members);
    /// @notice A member confirmed a group key.
    event KeyConfirmed(uint32 indexed draw, uint8 attempt, address indexed registrant, bytes32 key, uint256 count);
    /// @notice The election produced no committee; the current one continues.
    event ElectionVoid(uint64 indexed epoch, uint32 indexed draw, string reason);

    /// @notice The election is in another phase.
    error WrongPhase(Phase current, Phase needed);
    /// @notice The phase ended at `deadline`.
    error TooLate(uint256 time, uint256 deadline);
    /// @notice The election has the maximum number of candidates, each with at least the caller's weight.
    error ElectionFull(uint256 candidates);
    /// @notice The candidate withheld something in this epoch's election.
    error Barred(address registrant, uint64 epoch);
    /// @notice Only founders may stand for the first committee.
    error NotFounder(address registrant);
    /// @notice The candidate is at another stage of this draw.
    error WrongStage(address registrant, uint32 draw);
    /// @notice The commitment is zero.
    error EmptyCommitment();
    /// @notice The secret does not match the commitment.
    error WrongSecret(bytes32 commitment, bytes32 expected);
    /// @notice The threshold is below f + 1 or above the quorum.
    error ThresholdOutOfRange(uint32 threshold, uint256 least, uint256 most);
    /// @notice The member has confirmed a key in this key generation before.
    error AlreadyConfirmed(address registrant, uint8 attempt);

    /// @notice The state of the election.
    function election() external view returns (Election memory);

    /// @notice Accounts that committed in the current draw, in order; an account that displaced another has its place.
    function entrants() external view returns (address[] memory);

    /// @notice Voting addresses of the elected, by ascending output; equal outputs by place in `entrants`.
    function elected() external view returns (address[] memory);

    /// @notice Whether the account may stand for the first committee. Later elections are open to everybody, and the
    /// first one too if no founders were named.
    function founder(address account) external view returns (bool);

    /// @notice Bitmap of members of the current epoch whose votes do not count: they were slashed, or lost their places
    /// when the key was confirmed. The quorum does not change.
    function excluded() external view returns (uint256 members);

    /// @notice VRF input of the current draw: keccak256(abi.encode(DST, chainid, this, epoch, draw, seed, 0)),
    /// DST = keccak256("BlockFUL/sortition/v1/alpha").
    function alpha() external view returns (uint256);

    /// @notice Opens the election of the next epoch. Anyone may call it.
    /// @dev Emits PhaseStarted. Reverts with WrongPhase or TooEarly (before the minimum length of the epoch).
    function openElection() external;

    /// @notice Enters the election with a commitment:
    /// keccak256(abi.encode(DST, chainid, this, draw, registrant, secret)),
    /// DST = keccak256("BlockFUL/sortition/v1/commitment").
    /// @dev The caller must then reveal and prove. In a full draw, it takes the place of the entrant with the least
    /// weight (stake times trust), if its own is greater. Emits Displaced and Committed. Reverts with WrongPhase,
    /// TooLate, UnknownCandidate, Excluded, IsUnbonding, StakeTooLow, Untrusted, Barred, NotFounder, WrongStage,
    /// EmptyCommitment or ElectionFull.
    function commit(bytes32 commitment) external;

    /// @notice Reveals the caller's secret.
    /// @dev Emits Revealed. Reverts with WrongPhase, TooLate, WrongStage or WrongSecret.
    function reveal(bytes32 secret) external;

    /// @notice Proves the caller's output for `alpha()`; ignores the proof's own seed.
    /// @dev Emits Proved. Reverts with WrongPhase, TooLate, WrongStage, WrongVrfKey or the reasons of VRF.sol.
    function prove(VRF.Proof calldata proof) external;

    /// @notice Confirms the group key from the caller's key generation, and its threshold t:
    /// f + 1 <= t <= quorum, f = floor((n - 1) / 3). The epoch starts when a quorum has confirmed the
    /// same key and threshold.
    /// @dev Emits KeyConfirmed, and EpochStarted. Reverts with WrongPhase, TooLate, WrongStage, AlreadyConfirmed,
    /// ThresholdOutOfRange or InvalidRoster.
    function confirmKey(uint256 keyX, uint256 keyY, uint32 threshold) external;

    /// @notice Ends a phase that has expired or that all candidates completed. Anyone may call it.
    /// Commit: reveal follows, or the election is void with fewer than `minimum`.
    /// Reveal: the seed is drawn, or a new draw begins without the candidates that withheld.
    /// Prove: the committee is elected, or the election is void with fewer than `minimum`.
    /// Confirm: key generation starts again, or the election is void after `attempts`, or when fewer than a quorum have
    /// kept their places. The phase also ends when the members without a confirmation are too few for a quorum of any
    /// key.
    /// @dev Reverts with WrongPhase (Idle) or TooEarly.
    function proceed() external;
}
