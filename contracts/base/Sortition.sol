// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Election, IElection, Phase} from "../interfaces/IElection.sol";
import {Roster, VotingKey} from "../interfaces/IQuorum.sol";
import {Candidate, Stage} from "../interfaces/IStakes.sol";
import {LowestOutputs} from "../lib/LowestOutputs.sol";
import {Quorum} from "../lib/Quorum.sol";
import {Stakes} from "./Stakes.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @title Elections: commit, reveal, prove, confirm
/// @dev Slither treats a struct with one time as a time. Of all comparisons below, only comparisons with a deadline
/// depend on the clock, which limits periods of minutes and more and which a validator can move by seconds.
// slither-disable-start timestamp,incorrect-equality
abstract contract Sortition is Stakes, IElection {
    using LowestOutputs for LowestOutputs.List;

    bytes32 private constant _COMMITMENT = keccak256("BlockFUL/sortition/v1/commitment");
    bytes32 private constant _SEED = keccak256("BlockFUL/sortition/v1/seed");
    bytes32 private constant _ALPHA = keccak256("BlockFUL/sortition/v1/alpha");

    Election private _election;
    address[] private _entrants;
    address[] private _elected;
    /// @dev Number of members that confirmed a key and have kept their places.
    mapping(bytes32 key => uint256) private _confirmations;
    /// @dev Bitmap of members of the current epoch whose votes do not count.
    uint256 private _dismissed;

    /// @inheritdoc IElection
    mapping(address account => bool) public override founder;
    bool private immutable _founding;

    /// @dev Pre: the parameters are set.
    constructor(address[] memory founders) {
        _founding = founders.length != 0;
        if (_founding && founders.length < _parameters.minimum) revert InvalidParameters("too few founders");
        for (uint256 i = 0; i < founders.length; ++i) {
            if (founder[founders[i]]) revert InvalidParameters("a founder is listed twice");
            founder[founders[i]] = true;
        }
    }

    /// @inheritdoc IElection
    function election() external view override returns (Election memory) {
        return _election;
    }

    /// @inheritdoc IElection
    function entrants() external view override returns (address[] memory) {
        return _entrants;
    }

    /// @inheritdoc IElection
    function elected() external view override returns (address[] memory) {
        return _elected;
    }

    /// @inheritdoc IElection
    function alpha() public view override returns (uint256) {
        return uint256(_bound(_ALPHA, _election.seed, 0));
    }

    /// @inheritdoc IElection
    function openElection() external override {
        if (_election.phase != Phase.Idle) revert WrongPhase(_election.phase, Phase.Idle);
        _requireReached(_epochSince + _parameters.epochLength);
        _election.epoch = currentEpoch() + 1;
        _openDraw();
    }

    /// @inheritdoc IElection
    function commit(bytes32 commitment) external override {
        _requireOpen(Phase.Commit);
        Candidate storage entry = _known(msg.sender);
        _requireEligible(entry);
        if (entry.draw == _election.draw) revert WrongStage(msg.sender, _election.draw);
        if (commitment == 0) revert EmptyCommitment();
        if (_election.committed == _parameters.maxCandidates) {
            _displace(entry);
        } else {
            _entrants.push(msg.sender);
            ++_election.committed;
        }
        entry.draw = _election.draw;
        entry.stage = Stage.Committed;
        entry.attempt = 0;
        entry.commitment = commitment;
        emit Committed(_election.draw, msg.sender, commitment);
    }

    /// @inheritdoc IElection
    function reveal(bytes32 secret) external override {
        _requireOpen(Phase.Reveal);
        Candidate storage entry = _at(Stage.Committed);
        bytes32 commitment =
            keccak256(abi.encode(_COMMITMENT, block.chainid, address(this), _election.draw, msg.sender, secret));
        if (commitment != entry.commitment) revert WrongSecret(commitment, entry.commitment);
        entry.stage = Stage.Revealed;
        // XOR does not depend on the order, so the last to reveal gains no choice.
        _election.fold ^= keccak256(abi.encode(msg.sender, secret));
        ++_election.revealed;
        emit Revealed(_election.draw, msg.sender, secret);
    }

    /// @inheritdoc IElection
    function prove(VRF.Proof calldata proof) external override {
        _requireOpen(Phase.Prove);
        Candidate storage entry = _at(Stage.Revealed);
        bytes32 key = keccak256(abi.encode(proof.pk));
        if (key != entry.vrfKey) revert WrongVrfKey(key, entry.vrfKey);
        uint256 output = vrf.output(proof, alpha());
        entry.stage = Stage.Proven;
        entry.output = output;
        ++_election.proven;
        emit Proved(_election.draw, msg.sender, output);
    }

    /// @inheritdoc IElection
    function confirmKey(uint256 keyX, uint256 keyY, uint32 threshold) external override {
        _requireOpen(Phase.Confirm);
        Candidate storage entry = _at(Stage.Elected);
        uint8 attempt = _election.attempt;
        if (entry.attempt == attempt) revert AlreadyConfirmed(msg.sender, attempt);
        uint256 quorum = Quorum.size(_elected.length, false);
        uint256 least = _faults() + 1;
        if (threshold < least || threshold > quorum) revert ThresholdOutOfRange(threshold, least, quorum);
        _requireKey(keyX, keyY);

        bytes32 key = keccak256(abi.encode(_election.draw, attempt, keyX, keyY, threshold));
        uint256 count = ++_confirmations[key];
        entry.attempt = attempt;
        entry.confirmed = key;
        emit KeyConfirmed(_election.draw, attempt, msg.sender, key, count);
        if (count == quorum) _install(threshold, keyX, keyY);
    }

    /// @inheritdoc IElection
    function proceed() external override {
        Phase phase = _election.phase;
        if (phase == Phase.Commit) {
            _requireReached(_election.deadline);
            if (_election.committed < _parameters.minimum) _void("too few candidates");
            else _enter(Phase.Reveal, _parameters.revealPeriod);
        } else if (phase == Phase.Reveal) {
            _closeReveal();
        } else if (phase == Phase.Prove) {
            _closeProve();
        } else if (phase == Phase.Confirm) {
            _closeConfirm();
        } else {
            revert WrongPhase(phase, Phase.Commit);
        }
    }

    /// @dev Number of certificates reported in the current epoch.
    function _reports() internal view virtual returns (uint256);

    function _drawing(Candidate storage entry) internal view override returns (bool) {
        Phase phase = _election.phase;
        return
            phase != Phase.Idle && entry.draw == _election.draw
                && (phase != Phase.Confirm || entry.stage == Stage.Elected);
    }

    /// @inheritdoc IElection
    function excluded() external view override returns (uint256) {
        return _excluded();
    }

    function _excluded() internal view override returns (uint256) {
        return _dismissed;
    }

    /// @dev Excludes a slashed member at once from the current epoch, and from the next one if it was elected.
    function _dismiss(Candidate storage entry) internal {
        if (_election.phase == Phase.Confirm && _drawing(entry)) _vacate(entry);
        if (entry.servedUntil != _SERVING) return;
        uint64 epoch = currentEpoch();
        uint256 index = 0;
        while (_member(epoch, index) != entry.voter) ++index;
        _dismissed |= 1 << index;
        _setIncomplete();
    }

    function _closeReveal() private {
        Election storage current = _election;
        if (current.revealed < current.committed) {
            _requireReached(current.deadline);
            _punish(Stage.Committed);
            emit ElectionVoid(current.epoch, current.draw, "a secret was withheld");
            _openDraw();
            return;
        }
        current.seed = _bound(_SEED, current.seed, current.fold);
        emit SeedDrawn(current.epoch, current.draw, current.seed, alpha());
        _enter(Phase.Prove, _parameters.provePeriod);
    }

    function _closeProve() private {
        if (_election.proven < _election.committed) {
            _requireReached(_election.deadline);
            _punish(Stage.Revealed);
        }
        LowestOutputs.List memory lowest = LowestOutputs.create(_parameters.seats);
        uint256 count = _entrants.length;
        for (uint256 i = 0; i < count; ++i) {
            Candidate storage entry = _candidates[_entrants[i]];
            if (entry.stage == Stage.Proven && _isFit(entry)) lowest.offer(entry.output, _entrants[i]);
        }
        if (lowest.length < _parameters.minimum) {
            _void("too few proofs");
            return;
        }
        delete _elected;
        for (uint256 i = 0; i < lowest.length; ++i) {
            Candidate storage entry = _candidates[lowest.owners[i]];
            entry.stage = Stage.Elected;
            _elected.push(entry.voter);
        }
        emit Elected(_election.epoch, _election.draw, _elected);
        _generate(1);
    }

    /// @dev Among f + 1 members that confirmed one key, at least one is honest. So key generation was possible, and
    /// members that did not confirm that key are to blame: they lose their places. The phase ends early if the silent
    /// members cannot complete a quorum for any key; then they are not to blame.
    function _closeConfirm() private {
        uint256 count = _elected.length;
        uint256 quorum = Quorum.size(count, false);
        (uint256 most, uint256 silent) = _confirmed();
        if (most + silent >= quorum) _requireReached(_election.deadline);
        bool late = block.timestamp >= _election.deadline;
        uint256 faults = _faults();
        uint256 left = 0;
        for (uint256 i = 0; i < count; ++i) {
            Candidate storage entry = _seated(i);
            if (entry.stage != Stage.Elected) continue;
            bool spoke = entry.attempt == _election.attempt;
            if (most > faults && (spoke ? _confirmations[entry.confirmed] <= faults : late)) {
                _vacate(entry);
                _withhold(registrantOf[entry.voter]);
            } else {
                ++left;
            }
        }
        if (left < quorum) _void("too few of the elected are left");
        else if (_election.attempt == _parameters.attempts) _void("no key was confirmed");
        else _generate(_election.attempt + 1);
    }

    /// @dev Number of confirmations of the most confirmed key, and of members without any in this key generation.
    function _confirmed() private view returns (uint256 most, uint256 silent) {
        uint256 count = _elected.length;
        for (uint256 i = 0; i < count; ++i) {
            Candidate storage entry = _seated(i);
            if (entry.stage != Stage.Elected) continue;
            if (entry.attempt != _election.attempt) ++silent;
            else if (_confirmations[entry.confirmed] > most) most = _confirmations[entry.confirmed];
        }
    }

    /// @dev The elected member at an index of the next roster.
    function _seated(uint256 index) private view returns (Candidate storage) {
        return _candidates[registrantOf[_elected[index]]];
    }

    /// @dev Vacates the place of an elected member, whose votes will not count.
    function _vacate(Candidate storage entry) private {
        if (entry.attempt == _election.attempt) --_confirmations[entry.confirmed];
        entry.stage = Stage.None;
    }

    /// @dev Gives the caller the place of the entrant with the least weight; among equals, of the latest.
    function _displace(Candidate storage entry) private {
        uint256 least = _weight(entry);
        uint256 count = _entrants.length;
        uint256 place = count;
        for (uint256 i = count; i > 0; --i) {
            uint256 weight = _weight(_candidates[_entrants[i - 1]]);
            if (weight < least) (least, place) = (weight, i - 1);
        }
        if (place == count) revert ElectionFull(count);
        address displaced = _entrants[place];
        _candidates[displaced].draw = 0;
        _entrants[place] = msg.sender;
        emit Displaced(_election.draw, displaced, msg.sender);
    }

    /// @dev Starts the epoch: ends the old members' service and begins the new members'. The roster is valid: voting
    /// keys are registered once, with a proof of possession, entrants once a draw, threshold and key were checked.
    function _install(uint32 threshold, uint256 keyX, uint256 keyY) private {
        uint64 old = currentEpoch();
        for (uint256 i = 0; i < _size(old); ++i) {
            address registrant = registrantOf[_member(old, i)];
            Candidate storage entry = _candidates[registrant];
            entry.servedUntil = uint40(block.timestamp);
            bool idle = _reports() != 0 && entry.votes == 0;
            entry.votes = 0;
            if (!entry.slashed) _experience(registrant, idle ? 0 : 1, idle ? 1 : 0);
        }
        VotingKey[] memory members = new VotingKey[](_elected.length);
        uint256 empty = 0;
        for (uint256 i = 0; i < members.length; ++i) {
            Candidate storage entry = _candidates[registrantOf[_elected[i]]];
            entry.servedUntil = _SERVING;
            members[i] = entry.key;
            if (entry.stage != Stage.Elected) empty |= 1 << i;
        }
        _dismissed = empty;
        _election.phase = Phase.Idle;
        _epochSince = uint48(block.timestamp);
        _beginEpoch(_election.epoch, Roster(members, threshold, false, keyX, keyY));
        if (empty != 0) _setIncomplete();
    }

    function _openDraw() private {
        delete _entrants;
        ++_election.draw;
        (_election.committed, _election.revealed, _election.proven) = (0, 0, 0);
        _election.fold = 0;
        _enter(Phase.Commit, _parameters.commitPeriod);
    }

    function _generate(uint8 attempt) private {
        _election.attempt = attempt;
        _enter(Phase.Confirm, _parameters.confirmPeriod);
    }

    function _enter(Phase phase, uint256 period) private {
        _election.phase = phase;
        _election.deadline = uint64(block.timestamp + period);
        emit PhaseStarted(_election.epoch, _election.draw, phase, _election.deadline);
    }

    function _void(string memory reason) private {
        _election.phase = Phase.Idle;
        emit ElectionVoid(_election.epoch, _election.draw, reason);
    }

    /// @dev Punishes every entrant that did not pass `stage`.
    function _punish(Stage stage) private {
        uint256 count = _entrants.length;
        for (uint256 i = 0; i < count; ++i) {
            if (_candidates[_entrants[i]].stage == stage) _withhold(_entrants[i]);
        }
    }

    function _withhold(address registrant) private {
        _candidates[registrant].barred = uint32(_election.epoch);
        emit Withheld(_election.draw, registrant, _election.phase);
        _experience(registrant, 0, _parameters.withholding);
        _burn(registrant, _parameters.forfeit);
    }

    /// @dev f of n = 3f + 1.
    function _faults() private view returns (uint256) {
        return (_elected.length - 1) / 3;
    }

    /// @dev H(tag || chainid || this || epoch || draw || first || second)
    function _bound(bytes32 tag, bytes32 first, bytes32 second) private view returns (bytes32) {
        return keccak256(abi.encode(tag, block.chainid, address(this), _election.epoch, _election.draw, first, second));
    }

    function _requireOpen(Phase phase) private view {
        if (_election.phase != phase) revert WrongPhase(_election.phase, phase);
        if (block.timestamp >= _election.deadline) revert TooLate(block.timestamp, _election.deadline);
    }

    function _requireEligible(Candidate storage entry) private view {
        if (entry.slashed) revert Excluded(msg.sender);
        if (entry.unbondingSince != 0) revert IsUnbonding(msg.sender);
        if (entry.stake < _parameters.minStake) revert StakeTooLow(entry.stake, _parameters.minStake);
        if (_trust(entry) < _parameters.minTrust) revert Untrusted(_trust(entry), _parameters.minTrust);
        if (entry.barred == _election.epoch) revert Barred(msg.sender, _election.epoch);
        if (_founding && _election.epoch == 1 && !founder[msg.sender]) revert NotFounder(msg.sender);
    }

    /// @dev The caller's entry in the current draw, which must be at `stage`.
    function _at(Stage stage) private view returns (Candidate storage entry) {
        entry = _candidates[msg.sender];
        if (entry.draw != _election.draw || entry.stage != stage) revert WrongStage(msg.sender, _election.draw);
    }
}
    // slither-disable-end timestamp,incorrect-equality
