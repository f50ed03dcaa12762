// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Election, Phase} from "../../../contracts/interfaces/IElection.sol";
import {Candidate, Stage} from "../../../contracts/interfaces/IStakes.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyCommittee} from "./support/AnyCommittee.sol";
import {AnyRoster} from "./support/AnyRoster.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Candidates move their own part of an election only, each in its phase; no step of it moves money but the
/// forfeit of who withheld something.
contract ElectionChecks is AnyCommittee {
    struct Key {
        uint256 x;
        uint256 y;
        uint32 threshold;
    }

    uint256 private constant ENTRANTS = 17;
    uint256 private constant ELECTED = 18;
    uint256 private constant CONFIRMATIONS = 19;

    function check_openElection(address caller, uint40 clock, address other) external {
        VM.warp(clock);
        _bound(ENTRANTS);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Phase phase, uint64 epoch) = (COMMITTEE.election().phase, COMMITTEE.currentEpoch());
        // slot 2: the newest epoch that acknowledged 64, start of the current epoch 48
        uint256 since = uint48(uint256(VM.load(address(COMMITTEE), bytes32(uint256(2)))) >> 64);
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.openElection, ()))) return;
        assert(phase == Phase.Idle && clock >= since + COMMITTEE.parameters().epochLength);
        assert(COMMITTEE.election().phase == Phase.Commit && COMMITTEE.currentEpoch() == epoch);
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_commit(address caller, uint40 clock, bytes32 commitment, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Election memory election, Candidate memory own) = (COMMITTEE.election(), COMMITTEE.candidate(caller));
        VM.assume(election.committed != COMMITTEE.parameters().maxCandidates);
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.commit, (commitment)))) return;
        assert(election.phase == Phase.Commit && clock < election.deadline);
        assert(own.voter != address(0) && !own.slashed && own.unbondingSince == 0);
        assert(own.stake >= COMMITTEE.parameters().minStake && own.barred != election.epoch);
        assert(election.epoch != 1 || COMMITTEE.founder(caller));
        assert(own.draw != election.draw && COMMITTEE.candidate(caller).commitment == commitment);
        assert(surplus() == rest && COMMITTEE.candidate(caller).stake == own.stake);
        assert(unchanged(other, before));
    }

    /// @dev In a full draw of one, whose entrant loses its place and nothing else.
    function check_commit_displaces(address caller, uint40 clock, bytes32 commitment, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        VM.store(address(COMMITTEE), bytes32(ENTRANTS), bytes32(uint256(1)));
        address entrant = COMMITTEE.entrants()[0];
        VM.assume(COMMITTEE.election().committed == COMMITTEE.parameters().maxCandidates);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.commit, (commitment)))) return;
        assert(COMMITTEE.entrants()[0] == caller && surplus() == rest);
        // voter 160, unbondingSince 40, draw 32
        if (other == entrant) before[0] &= ~bytes32(uint256(type(uint32).max) << 200);
        assert(unchanged(other, before));
    }

    function check_reveal(address caller, uint40 clock, bytes32 secret, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Election memory election, Candidate memory own) = (COMMITTEE.election(), COMMITTEE.candidate(caller));
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.reveal, (secret)))) return;
        assert(election.phase == Phase.Reveal && clock < election.deadline);
        assert(own.draw == election.draw && own.stage == Stage.Committed);
        bytes32 tag = keccak256("BlockFUL/sortition/v1/commitment");
        assert(own.commitment == keccak256(abi.encode(tag, block.chainid, COMMITTEE, own.draw, caller, secret)));
        own.stage = Stage.Revealed;
        assert(same(abi.encode(COMMITTEE.candidate(caller)), abi.encode(own)));
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_prove(address caller, uint40 clock, VRF.Proof memory proof, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Election memory election, Candidate memory own) = (COMMITTEE.election(), COMMITTEE.candidate(caller));
        bytes32 good = keccak256(abi.encode(proof, COMMITTEE.alpha()));
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.prove, (proof)))) return;
        assert(election.phase == Phase.Prove && clock < election.deadline);
        assert(own.draw == election.draw && own.stage == Stage.Revealed);
        assert(own.vrfKey == keccak256(abi.encode(proof.pk)) && vrf.good() == good);
        assert(COMMITTEE.candidate(caller).stage == Stage.Proven);
        assert(surplus() == rest && unchanged(other, before));
    }

    /// @dev The key has been confirmed by others before.
    function check_confirmKey(address caller, uint40 clock, Key memory key, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        VM.store(address(COMMITTEE), bytes32(ELECTED), bytes32(uint256(1)));
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Election memory election, Candidate memory own) = (COMMITTEE.election(), COMMITTEE.candidate(caller));
        uint64 epoch = COMMITTEE.currentEpoch();
        VM.assume(_confirmations(election, key) != 0);
        bytes memory call = abi.encodeCall(COMMITTEE.confirmKey, (key.x, key.y, key.threshold));
        if (!passes(caller, address(COMMITTEE), call)) return;
        assert(election.phase == Phase.Confirm && clock < election.deadline);
        assert(own.draw == election.draw && own.stage == Stage.Elected && own.attempt != election.attempt);
        assert(key.threshold == 1 && COMMITTEE.currentEpoch() == epoch);
        assert(COMMITTEE.candidate(caller).stake == own.stake);
        assert(surplus() == rest && unchanged(other, before));
    }

    /// @dev One member is elected and confirms, which is a quorum; nobody has served before.
    function check_confirmKey_starts_the_epoch(address caller, uint40 clock, Key memory key, address other) external {
        VM.warp(clock);
        AnyRoster.seat(COMMITTEE, 0);
        VM.store(address(COMMITTEE), bytes32(ELECTED), bytes32(uint256(1)));
        VM.assume(other != caller && other != COMMITTEE.registrantOf(COMMITTEE.elected()[0]));
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (Election memory election, uint96 stake) = (COMMITTEE.election(), COMMITTEE.candidate(caller).stake);
        VM.assume(_confirmations(election, key) == 0);
        bytes memory call = abi.encodeCall(COMMITTEE.confirmKey, (key.x, key.y, key.threshold));
        if (!passes(caller, address(COMMITTEE), call)) return;
        assert(election.phase == Phase.Confirm && clock < election.deadline);
        assert(COMMITTEE.currentEpoch() == election.epoch && COMMITTEE.election().phase == Phase.Idle);
        assert(COMMITTEE.candidate(caller).stake == stake);
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_proceed_commit(address caller, uint40 clock, address other) external {
        (Election memory election,) = _proceed(caller, clock, other, Phase.Commit);
        assert(clock >= election.deadline);
    }

    function check_proceed_reveal(address caller, uint40 clock, address other) external {
        (Election memory election,) = _proceed(caller, clock, other, Phase.Reveal);
        assert(election.revealed >= election.committed || clock >= election.deadline);
    }

    function check_proceed_prove(address caller, uint40 clock, address other) external {
        (Election memory election,) = _proceed(caller, clock, other, Phase.Prove);
        assert(election.proven >= election.committed || clock >= election.deadline);
    }

    function check_proceed_confirm(address caller, uint40 clock, address other) external {
        (Election memory election, Candidate memory elected) = _proceed(caller, clock, other, Phase.Confirm);
        // It is the only one: once it is silent or has lost its place, no key can have a quorum.
        bool waiting = elected.stage == Stage.Elected && elected.attempt != election.attempt;
        assert(!waiting || clock >= election.deadline);
    }

    /// @dev One newcomer has entered and was elected. Only its stake can change, and by the forfeit.
    function _proceed(address caller, uint40 clock, address other, Phase phase)
        private
        returns (Election memory election, Candidate memory entrant)
    {
        VM.warp(clock);
        VM.store(address(COMMITTEE), bytes32(ENTRANTS), bytes32(uint256(1)));
        VM.store(address(COMMITTEE), bytes32(ELECTED), bytes32(uint256(1)));
        address only = COMMITTEE.entrants()[0];
        VM.assume(COMMITTEE.registrantOf(COMMITTEE.elected()[0]) == only && other != only);
        newcomer(only);
        (election, entrant) = (COMMITTEE.election(), COMMITTEE.candidate(only));
        VM.assume(election.phase == phase);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        uint64 epoch = COMMITTEE.currentEpoch();
        VM.assume(passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.proceed, ())));
        assert(COMMITTEE.currentEpoch() == epoch && surplus() == rest && unchanged(other, before));
        uint256 lost = entrant.stake - COMMITTEE.candidate(only).stake;
        assert(lost <= COMMITTEE.parameters().forfeit);
        assert(lost == 0 || COMMITTEE.candidate(only).barred == uint32(election.epoch));
    }

    function _confirmations(Election memory election, Key memory key) private view returns (uint256) {
        bytes32 confirmed = keccak256(abi.encode(election.draw, election.attempt, key.x, key.y, key.threshold));
        return uint256(VM.load(address(COMMITTEE), keccak256(abi.encode(confirmed, CONFIRMATIONS))));
    }

    /// @dev At most two in a list.
    function _bound(uint256 slot) private view {
        VM.assume(uint256(VM.load(address(COMMITTEE), bytes32(slot))) <= 2);
    }
}
