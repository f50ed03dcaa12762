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
    /// The epoch whose committee is elected.
    uint64 epoch;
    /// Counts the seeds that were tried, over all elections.
    uint32 draw;
    /// Key generations, from 1, in phase Confirm.
    uint8 attempt;
    /// When the phase ends, seconds.
    uint64 deadline;
    /// Candidates that committed, revealed and proved in this draw.
    uint32 committed;
    uint32 revealed;
    uint32 proven;
    /// XOR of keccak256(abi.encode(registrant, secret)).
    bytes32 fold;
    /// The newest seed: keccak256(abi.encode(DST, chainid, this, epoch, draw, seed before, fold)),
    /// DST = keccak256("BlockFUL/sortition/v1/seed"). Each follows from the one before.
    bytes32 seed;
}

/// @title Sortition of the next committee
/// @notice Commit and reveal give a seed, VRF outputs for it an order, and the first in it confirm a group key.
///
/// Every candidate commits to a secret, then all reveal. The seed is drawn only when all did; otherwise the draw is
/// void, who withheld is barred from this epoch, loses trust and a part of its stake, and the rest draw again.
/// So the last to reveal does not choose between seeds: it may give up a candidate for one fresh seed that it cannot
/// foresee. k candidates in one hand see at most k + 1 seeds, one after the other, instead of choosing from 2^k.
/// No block hash goes into the seed: whoever makes that block could try contents.
/// VRF keys are registered before the commit, and have one output a seed; withheld proofs and keys cost the same.
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
    /// @notice A candidate withheld its secret, its proof, or the key that most members confirmed; in the last case its
    /// place stays empty.
    event Withheld(uint32 indexed draw, address indexed registrant, Phase phase);
    /// @notice Voting addresses of the elected, by ascending output.
    event Elected(uint64 indexed epoch, uint32 indexed draw, address[] members);
    /// @notice A member confirmed a group key.
    event KeyConfirmed(uint32 indexed draw, uint8 attempt, address indexed registrant, bytes32 key, uint256 count);
    /// @notice The election gave no committee; the present one goes on.
    event ElectionVoid(uint64 indexed epoch, uint32 indexed draw, string reason);

    /// @notice The election is in another phase.
    error WrongPhase(Phase current, Phase needed);
    /// @notice The phase is over, since `deadline`.
    error TooLate(uint256 time, uint256 deadline);
    /// @notice As many candidates as an election bears, none with less weight than the caller.
    error ElectionFull(uint256 candidates);
    /// @notice The candidate withheld something in this epoch's election.
    error Barred(address registrant, uint64 epoch);
    /// @notice The first committee is elected among the founders.
    error NotFounder(address registrant);
    /// @notice The candidate is at another stage of this draw.
    error WrongStage(address registrant, uint32 draw);
    /// @notice The commitment is zero.
    error EmptyCommitment();
    /// @notice The secret is not what was committed to.
    error WrongSecret(bytes32 commitment, bytes32 expected);
    /// @notice The threshold is below f + 1 or above the quorum.
    error ThresholdOutOfRange(uint32 threshold, uint256 least, uint256 most);
    /// @notice A member confirms one key in a key generation.
    error AlreadyConfirmed(address registrant, uint8 attempt);

    /// @notice The state of the election.
    function election() external view returns (Election memory);

    /// @notice Accounts that committed in the present draw, by order; who displaced another stands in its place.
    function entrants() external view returns (address[] memory);

    /// @notice Voting addresses of the elected, by ascending output; equal outputs by place in `entrants`.
    function elected() external view returns (address[] memory);

    /// @notice Whether the account may stand for the first committee. Later elections are open to everybody, and the
    /// first one too where no founders were named.
    function founder(address account) external view returns (bool);

    /// @notice Members of the current epoch whose votes do not count, as bits: they were slashed, or lost their places
    /// when the key was confirmed. The quorum stays what it was.
    function excluded() external view returns (uint256 members);

    /// @notice VRF input of the present draw: keccak256(abi.encode(DST, chainid, this, epoch, draw, seed, 0)),
    /// DST = keccak256("BlockFUL/sortition/v1/alpha").
    function alpha() external view returns (uint256);

    /// @notice Opens the election of the next epoch. Anyone may.
    /// @dev Emits PhaseStarted. Reverts with WrongPhase or TooEarly (before the epoch's least length).
    function openElection() external;

    /// @notice Enters the election with a commitment:
    /// keccak256(abi.encode(DST, chainid, this, draw, registrant, secret)),
    /// DST = keccak256("BlockFUL/sortition/v1/commitment").
    /// @dev Who enters must reveal and prove. In a full draw the caller takes the place of the entrant with the least
    /// weight (stake times trust), if its own is greater. Emits Displaced and Committed. Reverts with WrongPhase,
    /// TooLate, UnknownCandidate, Excluded, IsUnbonding, StakeTooLow, Untrusted, Barred, NotFounder, WrongStage,
    /// EmptyCommitment or ElectionFull.
    function commit(bytes32 commitment) external;

    /// @notice Reveals the caller's secret.
    /// @dev Emits Revealed. Reverts with WrongPhase, TooLate, WrongStage or WrongSecret.
    function reveal(bytes32 secret) external;

    /// @notice Proves the caller's output for `alpha()`; the proof's own seed is not read.
    /// @dev Emits Proved. Reverts with WrongPhase, TooLate, WrongStage, WrongVrfKey or the reasons of VRF.sol.
    function prove(VRF.Proof calldata proof) external;

    /// @notice Confirms the group key that the caller's key generation gave, and its threshold t:
    /// f + 1 <= t <= quorum, f = floor((n - 1) / 3). The epoch starts when a quorum confirmed the same.
    /// @dev Emits KeyConfirmed, and EpochStarted. Reverts with WrongPhase, TooLate, WrongStage, AlreadyConfirmed,
    /// ThresholdOutOfRange or InvalidRoster.
    function confirmKey(uint256 keyX, uint256 keyY, uint32 threshold) external;

    /// @notice Ends a phase whose time is over, or that all candidates completed. Anyone may.
    /// Commit: reveal follows, or the election is void with fewer than `minimum`.
    /// Reveal: the seed is drawn, or a new draw begins without those who withheld.
    /// Prove: the committee is elected, or the election is void with fewer than `minimum`.
    /// Confirm: key generation starts again, or the election is void after `attempts`, or once fewer than a quorum have
    /// kept their places. Its time is over, too, once those that have not confirmed are too few for a quorum of any key.
    /// @dev Reverts with WrongPhase (Idle) or TooEarly.
    function proceed() external;
}
