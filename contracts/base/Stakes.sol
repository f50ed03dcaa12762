// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VotingKey} from "../interfaces/IQuorum.sol";
import {Candidate, IStakes, Parameters, Reward} from "../interfaces/IStakes.sol";
import {IVrfVerifier} from "../interfaces/IVrfVerifier.sol";
import {Schnorr, Signature} from "../lib/Schnorr.sol";
import {Secp256k1} from "../lib/Secp256k1.sol";
import {Trust} from "../lib/Trust.sol";
import {Acknowledgements} from "./Acknowledgements.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title Registration, stake and trust
/// @dev Invariant: balance >= totalStake + totalRewards + burnt, with equality unless ether was forced in.
abstract contract Stakes is Acknowledgements, IStakes {
    /// @dev `servedUntil` of a member of the current epoch.
    uint40 internal constant _SERVING = type(uint40).max;
    bytes32 private constant _POSSESSION = keccak256("BlockFUL/sortition/v1/possession");
    bytes32 private constant _REGISTRATION_TYPEHASH = keccak256("Registration(address registrant)");

    /// @inheritdoc IStakes
    IVrfVerifier public immutable override vrf;

    /// @inheritdoc IStakes
    uint256 public override totalStake;
    /// @inheritdoc IStakes
    uint256 public override burnt;
    /// @inheritdoc IStakes
    uint256 public override totalRewards;
    /// @inheritdoc IStakes
    mapping(address voter => address registrant) public override registrantOf;

    Parameters internal _parameters;
    mapping(address registrant => Candidate) internal _candidates;
    mapping(address reporter => Reward) private _rewards;
    mapping(bytes32 vrfKey => bool) private _keyTaken;

    constructor(IVrfVerifier vrf_, Parameters memory rules) {
        if (address(vrf_).code.length == 0) revert InvalidParameters("no VRF verifier");
        if (rules.minStake == 0) revert InvalidParameters("minStake is zero");
        if (rules.forfeit == 0 || rules.forfeit > rules.minStake) revert InvalidParameters("forfeit out of range");
        if (rules.minTrust > Trust.ONE / 2) revert InvalidParameters("minTrust excludes newcomers");
        if (rules.minimum == 0 || rules.minimum > rules.seats) revert InvalidParameters("minimum out of range");
        if (rules.seats > 100) revert InvalidParameters("more than 100 seats");
        if (rules.maxCandidates < rules.seats || rules.maxCandidates > 256) {
            revert InvalidParameters("maxCandidates out of range");
        }
        if (rules.reward > 10) revert InvalidParameters("reward above a tenth");
        if (rules.attempts == 0) revert InvalidParameters("attempts is zero");
        if (rules.commitPeriod == 0 || rules.revealPeriod == 0 || rules.provePeriod == 0 || rules.confirmPeriod == 0) {
            revert InvalidParameters("a period is zero");
        }
        vrf = vrf_;
        _parameters = rules;
    }

    /// @inheritdoc IStakes
    function parameters() external view override returns (Parameters memory) {
        return _parameters;
    }

    /// @inheritdoc IStakes
    function candidate(address registrant) external view override returns (Candidate memory) {
        return _candidates[registrant];
    }

    /// @inheritdoc IStakes
    function rewards(address reporter) external view override returns (Reward memory) {
        return _rewards[reporter];
    }

    /// @inheritdoc IStakes
    function trust(address registrant) external view override returns (uint256) {
        return _trust(_candidates[registrant]);
    }

    /// @inheritdoc IStakes
    function possessionAlpha(address registrant) public view override returns (uint256) {
        return uint256(keccak256(abi.encode(_POSSESSION, block.chainid, address(this), registrant)));
    }

    /// @inheritdoc IStakes
    function register(VotingKey calldata key, Signature calldata consent, VRF.Proof calldata possession)
        external
        payable
        override
    {
        uint96 stake = _stake(msg.value);
        bytes32 vrfKey = keccak256(abi.encode(possession.pk));
        address voter = Secp256k1.account(key.x, key.y);
        Candidate storage entry = _candidates[msg.sender];
        if (entry.voter != address(0) || registrantOf[voter] != address(0) || _keyTaken[vrfKey]) {
            revert AlreadyRegistered(msg.sender, voter, vrfKey);
        }
        bytes32 content = keccak256(abi.encode(_REGISTRATION_TYPEHASH, msg.sender));
        bytes32 digest = MessageHashUtils.toTypedDataHash(domainSeparator, content);
        if (!Schnorr.verify(key.x, key.y, digest, consent.nonce, consent.s)) revert InvalidConsent(msg.sender, voter);
        // slither-disable-next-line unused-return
        vrf.output(possession, possessionAlpha(msg.sender));

        entry.voter = voter;
        entry.key = key;
        entry.vrfKey = vrfKey;
        entry.stake = stake;
        registrantOf[voter] = msg.sender;
        _keyTaken[vrfKey] = true;
        totalStake += msg.value;
        emit Registered(msg.sender, voter, possession.pk[0], possession.pk[1], msg.value);
    }

    /// @inheritdoc IStakes
    function deposit() external payable override {
        Candidate storage entry = _known(msg.sender);
        if (entry.slashed) revert Excluded(msg.sender);
        uint96 stake = _stake(entry.stake + msg.value);
        entry.stake = stake;
        entry.unbondingSince = 0;
        totalStake += msg.value;
        emit Deposited(msg.sender, msg.value, stake);
    }

    /// @inheritdoc IStakes
    function unbond() external override {
        Candidate storage entry = _known(msg.sender);
        if (entry.unbondingSince != 0) revert IsUnbonding(msg.sender);
        if (_drawing(entry)) revert Engaged(msg.sender);
        entry.unbondingSince = uint40(block.timestamp);
        emit Unbonding(msg.sender, block.timestamp);
    }

    /// @inheritdoc IStakes
    function withdraw() external override {
        Candidate storage entry = _known(msg.sender);
        if (entry.unbondingSince == 0) revert NotUnbonding(msg.sender);
        if (entry.servedUntil == _SERVING) revert Engaged(msg.sender);
        uint256 since = entry.unbondingSince;
        if (entry.servedUntil != 0) {
            uint256 left = _acknowledgedSince(entry.servedUntil);
            if (left == 0) revert MirrorsBehind(msg.sender, acknowledged);
            if (left > since) since = left;
        }
        _requireReached(since + _parameters.unbondingDelay);
        uint256 amount = entry.stake;
        entry.stake = 0;
        totalStake -= amount;
        if (entry.bad > entry.good) {
            (entry.good, entry.bad) = (0, 0);
            emit TrustChanged(msg.sender, 0, 0, _trust(entry));
        }
        emit Withdrawn(msg.sender, amount);
        _pay(amount);
    }

    /// @inheritdoc IStakes
    function claim() external override {
        Reward storage reward = _rewards[msg.sender];
        _requireReached(reward.claimable);
        uint256 amount = reward.amount;
        delete _rewards[msg.sender];
        totalRewards -= amount;
        emit Claimed(msg.sender, amount);
        _pay(amount);
    }

    /// @dev Whether the candidate takes part in the current draw.
    function _drawing(Candidate storage entry) internal view virtual returns (bool);

    function _known(address registrant) internal view returns (Candidate storage entry) {
        entry = _candidates[registrant];
        if (entry.voter == address(0)) revert UnknownCandidate(registrant);
    }

    function _trust(Candidate storage entry) internal view returns (uint256) {
        return Trust.score(entry.good, entry.bad);
    }

    /// @dev Weight of a candidate when a draw is full: stake times trust.
    function _weight(Candidate storage entry) internal view returns (uint256) {
        return entry.stake * _trust(entry);
    }

    /// @dev Whether the candidate is not slashed and has enough stake and trust.
    function _isFit(Candidate storage entry) internal view returns (bool) {
        return !entry.slashed && entry.stake >= _parameters.minStake && _trust(entry) >= _parameters.minTrust;
    }

    /// @dev Adds experiences of one kind.
    function _experience(address registrant, uint32 good, uint32 bad) internal {
        Candidate storage entry = _candidates[registrant];
        (entry.good, entry.bad) = Trust.remember(entry.good, entry.bad, good, bad);
        emit TrustChanged(registrant, entry.good, entry.bad, _trust(entry));
    }

    /// @dev Burns up to `amount` of a stake.
    function _burn(address registrant, uint256 amount) internal {
        Candidate storage entry = _candidates[registrant];
        if (amount > entry.stake) amount = entry.stake;
        entry.stake -= uint96(amount);
        totalStake -= amount;
        burnt += amount;
        emit Burnt(registrant, amount);
    }

    /// @dev Takes the whole stake: a share is the reporter's, after the same delay as a stake; the rest is burnt.
    function _slash(address registrant, address reporter) internal {
        Candidate storage entry = _candidates[registrant];
        entry.slashed = true;
        uint96 reward = uint96(uint256(entry.stake) * _parameters.reward / 100);
        entry.stake -= reward;
        totalStake -= reward;
        Reward storage owed = _rewards[reporter];
        owed.amount += reward;
        owed.claimable = uint40(block.timestamp + _parameters.unbondingDelay);
        totalRewards += reward;
        emit Slashed(registrant, reporter, entry.stake, reward);
        _burn(registrant, entry.stake);
    }

    function _requireReached(uint256 time) internal view {
        // The clock limits periods of minutes and more; a validator can move it by seconds.
        // slither-disable-next-line timestamp
        if (block.timestamp < time) revert TooEarly(block.timestamp, time);
    }

    /// @dev Checks that a stake is high enough and fits.
    function _stake(uint256 amount) private view returns (uint96) {
        if (amount < _parameters.minStake) revert StakeTooLow(amount, _parameters.minStake);
        if (amount > type(uint96).max) revert StakeTooHigh(amount, type(uint96).max);
        return uint96(amount);
    }

    /// @dev The caller's state is final before the call, so re-entrance finds nothing to pay.
    // slither-disable-next-line arbitrary-send-eth
    function _pay(uint256 amount) private {
        if (amount == 0) revert NothingToPay(msg.sender);
        // The receiver is the caller, and the amount is the caller's.
        // slither-disable-next-line low-level-calls,arbitrary-send-eth
        (bool paid,) = msg.sender.call{value: amount}("");
        if (!paid) revert PaymentRefused(msg.sender, amount);
    }
}
