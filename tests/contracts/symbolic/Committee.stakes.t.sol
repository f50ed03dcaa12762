// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VotingKey} from "../../../contracts/interfaces/IQuorum.sol";
import {Candidate, Reward} from "../../../contracts/interfaces/IStakes.sol";
import {Signature} from "../../../contracts/lib/Schnorr.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyCommittee} from "./support/AnyCommittee.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Accounts move their own stake and rewards only, and are paid what is theirs, when it is due.
contract StakeChecks is AnyCommittee {
    struct Request {
        VotingKey key;
        Signature consent;
        VRF.Proof possession;
    }

    function check_register(address caller, uint96 value, Request memory request) external {
        person(caller);
        address voter = address(uint160(uint256(keccak256(abi.encode(request.key.x, request.key.y)))));
        address taken = COMMITTEE.registrantOf(voter);
        (bytes32 own, uint256 total, uint256 rest) = (stored(caller)[0], COMMITTEE.totalStake(), surplus());
        if (!_registers(caller, value, request)) return;
        assert(value >= COMMITTEE.parameters().minStake);
        assert(address(uint160(uint256(own))) == address(0) && taken == address(0));
        bytes32 content = keccak256(abi.encode(keccak256("Registration(address registrant)"), caller));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", COMMITTEE.domainSeparator(), content));
        assert(signed(request.key.x, request.key.y, digest, request.consent.nonce, request.consent.s));
        assert(vrf.good() == keccak256(abi.encode(request.possession, COMMITTEE.possessionAlpha(caller))));
        assert(COMMITTEE.registrantOf(voter) == caller && COMMITTEE.candidate(caller).voter == voter);
        assert(COMMITTEE.totalStake() == total + value && surplus() == rest);
    }

    function check_register_changes_no_other(
        address caller,
        uint96 value,
        Request memory request,
        address other,
        address voter
    ) external {
        VM.assume(other != caller);
        (bytes32[9] memory before, address registrant) = (stored(other), COMMITTEE.registrantOf(voter));
        VM.assume(registrant != address(0));
        if (!_registers(caller, value, request)) return;
        assert(unchanged(other, before) && COMMITTEE.registrantOf(voter) == registrant);
    }

    function check_deposit(address caller, uint96 value, address other) external {
        person(caller);
        VM.assume(other != caller);
        bytes32[9] memory before = stored(other);
        (Candidate memory own, uint256 total, uint256 rest) =
            (COMMITTEE.candidate(caller), COMMITTEE.totalStake(), surplus());
        if (!passes(caller, address(COMMITTEE), value, abi.encodeCall(COMMITTEE.deposit, ()))) return;
        assert(own.voter != address(0) && !own.slashed);
        assert(COMMITTEE.candidate(caller).stake == uint256(own.stake) + value);
        assert(COMMITTEE.totalStake() == total + value && surplus() == rest);
        assert(unchanged(other, before));
    }

    function check_unbond(address caller, uint40 clock, address other) external {
        VM.warp(clock);
        VM.assume(other != caller);
        bytes32[9] memory before = stored(other);
        (Candidate memory own, uint256 rest) = (COMMITTEE.candidate(caller), surplus());
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.unbond, ()))) return;
        assert(own.voter != address(0) && own.unbondingSince == 0);
        own.unbondingSince = clock;
        assert(same(abi.encode(COMMITTEE.candidate(caller)), abi.encode(own)));
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_withdraw(address caller, uint40 clock, address other) external {
        VM.warp(clock);
        person(caller);
        VM.assume(other != caller);
        bytes32[9] memory before = stored(other);
        (Candidate memory own, uint256 total, uint256 rest) =
            (COMMITTEE.candidate(caller), COMMITTEE.totalStake(), surplus());
        uint256 purse = caller.balance;
        uint256 acknowledgement = _acknowledgement();
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.withdraw, ()))) return;
        uint256 delay = COMMITTEE.parameters().unbondingDelay;
        assert(own.unbondingSince != 0 && clock >= own.unbondingSince + delay);
        assert(own.servedUntil != SERVING);
        if (own.servedUntil != 0) {
            assert(uint48(acknowledgement) >= own.servedUntil);
            assert(clock >= (acknowledgement >> 48) + delay);
        }
        assert(caller.balance == purse + own.stake && COMMITTEE.candidate(caller).stake == 0);
        assert(COMMITTEE.totalStake() == total - own.stake && surplus() == rest);
        assert(unchanged(other, before));
    }

    function check_claim(address caller, uint64 clock, address other) external {
        VM.warp(clock);
        person(caller);
        VM.assume(other != caller);
        bytes32[9] memory before = stored(other);
        (Reward memory own, uint256 total, uint256 rest) =
            (COMMITTEE.rewards(caller), COMMITTEE.totalRewards(), surplus());
        uint256 purse = caller.balance;
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.claim, ()))) return;
        assert(clock >= own.claimable);
        assert(caller.balance == purse + own.amount && COMMITTEE.rewards(caller).amount == 0);
        assert(COMMITTEE.totalRewards() == total - own.amount && surplus() == rest);
        assert(unchanged(other, before));
    }

    function _registers(address caller, uint96 value, Request memory request) private returns (bool) {
        bytes memory call = abi.encodeCall(COMMITTEE.register, (request.key, request.consent, request.possession));
        return passes(caller, address(COMMITTEE), value, call);
    }

    /// @dev There is at most one acknowledgement: since 48, given 48.
    function _acknowledgement() private view returns (uint256 only) {
        uint256 count = uint256(VM.load(address(COMMITTEE), bytes32(uint256(3))));
        VM.assume(count <= 1);
        only = uint256(VM.load(address(COMMITTEE), keccak256(abi.encode(uint256(3)))));
        only &= type(uint96).max;
    }
}
