// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Signature} from "../lib/Schnorr.sol";
import {VotingKey} from "./IQuorum.sol";
import {IVrfVerifier} from "./IVrfVerifier.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Parameters of the committee. Amounts in wei, times in seconds.
struct Parameters {
    /// Minimum stake of a candidate: the cost of an equivocation, and of a second identity.
    uint96 minStake;
    /// Burnt from the stake of a candidate that withholds a secret, a proof or a key; above the value of another draw,
    /// and above zero.
    uint96 forfeit;
    /// Minimum trust of a candidate, parts per million; below 500,000, or no newcomer could stand.
    uint32 minTrust;
    /// Members of a full committee (n of 3f + 1); at most 100, so that an epoch starts within one block's gas.
    uint16 seats;
    /// Fewer members than this elect nobody; at least 1, and 4 to tolerate one fault.
    uint16 minimum;
    /// Maximum number of candidates in one election, at most 256, so that every loop over them fits into one block.
    uint16 maxCandidates;
    /// The reporter's share of a slashed stake, percent; at most 10, because the reporter may be the slashed member
    /// under another name, and then the share reduces the cost of an equivocation.
    uint8 reward;
    /// Maximum number of votes in an epoch that raise a member's trust, so that made-up proposals cannot farm it.
    uint8 creditedVotes;
    /// Increment of `bad` for a withheld secret, proof or key.
    uint8 withholding;
    /// Maximum number of key generations in an election; afterwards it is void.
    uint8 attempts;
    /// Minimum length of an epoch before an election may be opened.
    uint32 epochLength;
    /// Time to commit to a secret; long enough to get a transaction through.
    uint32 commitPeriod;
    /// Time to reveal it.
    uint32 revealPeriod;
    /// Time to prove one's output.
    uint32 provePeriod;
    /// Time to generate and confirm a group key.
    uint32 confirmPeriod;
    /// Time from unbonding, or from the acknowledgement that no mirror obeys the candidate's last epoch, to withdrawal,
    /// and from a report to its reward: longer than it takes to notice and report two votes on one proposal.
    uint32 unbondingDelay;
}

/// @notice A registered candidate.
struct Candidate {
    /// Voting address, kept for ever.
    address voter;
    /// Time of the unbonding request; 0 without one.
    uint40 unbondingSince;
    /// The last draw that it took part in.
    uint32 draw;
    /// The last key generation in which it confirmed a key.
    uint8 attempt;
    /// Its stage in that draw.
    Stage stage;
    /// Whether two of its votes contradicted each other.
    bool slashed;
    uint96 stake;
    /// Good and bad experiences.
    uint32 good;
    uint32 bad;
    /// End of its last epoch; 2^40 - 1 while it serves.
    uint40 servedUntil;
    /// Votes credited in the current epoch.
    uint24 votes;
    /// The epoch of the election in which it withheld something.
    uint32 barred;
    /// keccak256(x || y) of its VRF key.
    bytes32 vrfKey;
    /// Commitment to its secret.
    bytes32 commitment;
    /// VRF output.
    uint256 output;
    /// Key that signs its votes and certificates; `voter` is the key's address.
    VotingKey key;
    /// Key that it confirmed: keccak256(abi.encode(draw, attempt, keyX, keyY, threshold)).
    bytes32 confirmed;
}

/// @notice A reporter's reward, and when it can be claimed.
struct Reward {
    uint96 amount;
    /// Seconds.
    uint40 claimable;
}

/// @notice A candidate's progress in a draw.
enum Stage {
    None,
    Committed,
    Revealed,
    Proven,
    Elected
}

/// @title Stake and trust of candidates
interface IStakes {
    /// @notice A candidate registered, with its VRF key.
    event Registered(address indexed registrant, address indexed voter, uint256 vrfX, uint256 vrfY, uint256 stake);
    /// @notice Stake was added.
    event Deposited(address indexed registrant, uint256 amount, uint256 stake);
    /// @notice A candidate asked for its stake back; it can no longer be elected.
    event Unbonding(address indexed registrant, uint256 since);
    /// @notice A stake was paid out.
    event Withdrawn(address indexed registrant, uint256 amount);
    /// @notice Trust changed, in parts per million.
    event TrustChanged(address indexed registrant, uint32 good, uint32 bad, uint256 trust);
    /// @notice Stake was burnt; it stays in this contract for ever.
    event Burnt(address indexed registrant, uint256 amount);
    /// @notice A member was convicted of voting twice on one proposal.
    event Slashed(address indexed registrant, address indexed reporter, uint256 burnt, uint256 reward);
    /// @notice A reward was paid out.
    event Claimed(address indexed reporter, uint256 amount);

    /// @notice A parameter breaks the rule named by `reason`.
    error InvalidParameters(string reason);
    /// @notice The account, voting address or VRF key is already registered.
    error AlreadyRegistered(address registrant, address voter, bytes32 vrfKey);
    /// @notice The account is not registered.
    error UnknownCandidate(address account);
    /// @notice The stake is below `needed`.
    error StakeTooLow(uint256 stake, uint256 needed);
    /// @notice The stake exceeds the maximum.
    error StakeTooHigh(uint256 stake, uint256 most);
    /// @notice Trust is below the threshold.
    error Untrusted(uint256 trust, uint256 needed);
    /// @notice The candidate was slashed; it is excluded for ever.
    error Excluded(address registrant);
    /// @notice The voting key did not sign `Registration(address registrant)`.
    error InvalidConsent(address registrant, address voter);
    /// @notice The proof is by another key.
    error WrongVrfKey(bytes32 given, bytes32 expected);
    /// @notice The candidate has asked for its stake back.
    error IsUnbonding(address registrant);
    /// @notice Unbonding was not asked for.
    error NotUnbonding(address registrant);
    /// @notice The candidate takes part in the current draw, or serves.
    error Engaged(address registrant);
    /// @notice The call is not allowed before `at`.
    error TooEarly(uint256 time, uint256 at);
    /// @notice Mirrors may still obey an epoch that the candidate served, since no later epoch has acknowledged them.
    error MirrorsBehind(address registrant, uint64 acknowledged);
    /// @notice The account has nothing to be paid.
    error NothingToPay(address account);
    /// @notice The receiver refused the payment.
    error PaymentRefused(address account, uint256 amount);

    /// @notice The contract that checks VRF proofs.
    function vrf() external view returns (IVrfVerifier);

    /// @notice The parameters from the deployment.
    function parameters() external view returns (Parameters memory);

    /// @notice Sum of all stakes.
    function totalStake() external view returns (uint256);

    /// @notice Sum of all burnt stake.
    function burnt() external view returns (uint256);

    /// @notice Sum of rewards not yet claimed.
    function totalRewards() external view returns (uint256);

    /// @notice Reward of `reporter`; each new reward postpones the time when it can be claimed.
    function rewards(address reporter) external view returns (Reward memory);

    /// @notice The state of a candidate; all zero for an unknown account.
    function candidate(address registrant) external view returns (Candidate memory);

    /// @notice The account that registered a voting address, or 0.
    function registrantOf(address voter) external view returns (address);

    /// @notice floor(10^6 (good + 1) / (good + bad + 2)).
    function trust(address registrant) external view returns (uint256);

    /// @notice Input of the proof of possession: keccak256(abi.encode(DST, chainid, this, registrant)),
    /// DST = keccak256("BlockFUL/sortition/v1/possession").
    function possessionAlpha(address registrant) external view returns (uint256);

    /// @notice Registers the caller with its stake, its voting key and its VRF key.
    /// @dev `consent`: Schnorr signature by the voting key over `Registration(address registrant)` under the domain of
    /// votes (Schnorr.sol). It prevents registration of others' keys, and of keys derived from them to cancel them in a
    /// certificate's sum. `possession`: VRF proof for possessionAlpha. Emits Registered. Reverts with StakeTooLow,
    /// StakeTooHigh, AlreadyRegistered, InvalidConsent, or the reasons of VRF.sol.
    function register(VotingKey calldata key, Signature calldata consent, VRF.Proof calldata possession)
        external
        payable;

    /// @notice Adds to the caller's stake, and cancels its unbonding.
    /// @dev Emits Deposited. Reverts with UnknownCandidate, Excluded, StakeTooLow or StakeTooHigh.
    function deposit() external payable;

    /// @notice Asks for the stake back; the caller can no longer be elected.
    /// @dev Emits Unbonding. Reverts with UnknownCandidate, IsUnbonding or Engaged (in a draw; serving members may
    /// ask).
    function unbond() external;

    /// @notice Pays the whole stake to the caller, and resets its trust if that is worse than a newcomer's.
    /// @dev Emits Withdrawn, and TrustChanged after a reset. Reverts with NotUnbonding, Engaged (for serving members),
    /// MirrorsBehind, TooEarly, NothingToPay, PaymentRefused.
    function withdraw() external;

    /// @notice Pays the caller's rewards.
    /// @dev Emits Claimed. Reverts with TooEarly, NothingToPay or PaymentRefused.
    function claim() external;
}
