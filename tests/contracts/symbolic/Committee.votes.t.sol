// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Equivocation, Signed} from "../../../contracts/interfaces/ICommittee.sol";
import {Certificate} from "../../../contracts/interfaces/IQuorum.sol";
import {Candidate} from "../../../contracts/interfaces/IStakes.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyCommittee} from "./support/AnyCommittee.sol";
import {AnyRoster} from "./support/AnyRoster.sol";

/// @notice Certificates count when a quorum of the current epoch signed them, whose members are not excluded; who is
/// convicted has signed twice.
contract VoteChecks is AnyCommittee {
    uint256 private constant EXCLUDED = 20;

    function check_requireQuorum(address caller, Certificate memory certificate) external {
        AnyRoster.seat(COMMITTEE, 4);
        VM.assume(certificate.voters == 15);
        uint256 votes = AnyRoster.count(certificate.voters & ~_excluded());
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.requireQuorum, (certificate)))) return;
        assert(certificate.epoch == COMMITTEE.currentEpoch() && certificate.epoch != 0);
        assert(votes >= AnyRoster.needed(COMMITTEE));
        assert(_allSigned(certificate, block.chainid, caller));
    }

    function check_acknowledge(address caller, uint40 clock, Certificate memory certificate, address other) external {
        VM.warp(clock);
        AnyRoster.seat(COMMITTEE, 4);
        VM.assume(certificate.voters == 15);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        uint64 newest = COMMITTEE.acknowledged();
        bytes memory asked = abi.encodeCall(COMMITTEE.requireQuorum, (certificate));
        bool held = passes(address(COMMITTEE), address(COMMITTEE), asked);
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.acknowledge, (certificate)))) return;
        assert(held && certificate.epoch != newest && COMMITTEE.acknowledged() == COMMITTEE.currentEpoch());
        bytes32 digest = keccak256(abi.encode(certificate.epoch));
        bytes32 inner = keccak256(abi.encode(block.chainid, COMMITTEE, COMMITTEE.acknowledge.selector, 0, 1, digest));
        assert(certificate.contentHash == keccak256(bytes.concat(inner)));
        assert(surplus() == rest && unchanged(other, before));
    }

    /// @dev In an epoch of one member.
    function check_report(
        address caller,
        Certificate memory certificate,
        uint256 chainId,
        address executor,
        address other
    ) external {
        address member = _alone(other);
        (bytes32[9] memory before, uint256 rest) = (stored(other), surplus());
        (uint96 stake, uint256 known) =
            (COMMITTEE.candidate(member).stake, COMMITTEE.credited(certificate.epoch, certificate.proposal));
        bytes memory call = abi.encodeCall(COMMITTEE.report, (certificate, chainId, executor));
        if (!passes(caller, address(COMMITTEE), call)) return;
        assert(certificate.epoch == COMMITTEE.currentEpoch() && certificate.voters == 1 && known & 1 == 0);
        assert(_excluded() & 1 == 0 && _allSigned(certificate, chainId, executor));
        assert(COMMITTEE.candidate(member).stake == stake);
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_slash(address caller, Equivocation memory evidence, address other) external {
        address member = _alone(other);
        evidence.index = 0;
        VM.assume(evidence.epoch == COMMITTEE.currentEpoch() && other != caller);
        (bytes32[9] memory before, Candidate memory convict) = (stored(other), COMMITTEE.candidate(member));
        uint256 rest = surplus();
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.slash, (evidence)))) return;
        assert(evidence.firstContent != evidence.secondContent);
        assert(_voted(evidence, evidence.firstContent, evidence.firstVote) == convict.voter);
        assert(_voted(evidence, evidence.secondContent, evidence.secondVote) == convict.voter);
        _convicted(member, convict);
        assert(surplus() == rest && unchanged(other, before));
    }

    function check_slashSigner(address caller, Signed memory first, Signed memory second, address other) external {
        address member = _alone(other);
        VM.assume(first.certificate.epoch == COMMITTEE.currentEpoch() && other != caller);
        (bytes32[9] memory before, Candidate memory convict) = (stored(other), COMMITTEE.candidate(member));
        uint256 rest = surplus();
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.slashSigner, (first, second, 0)))) return;
        (Certificate memory one, Certificate memory two) = (first.certificate, second.certificate);
        assert(one.epoch == two.epoch && one.proposal == two.proposal && one.contentHash != two.contentHash);
        assert(one.voters == 1 && two.voters == 1);
        assert(_allSigned(one, first.chainId, first.executor) && _allSigned(two, second.chainId, second.executor));
        _convicted(member, convict);
        assert(surplus() == rest && unchanged(other, before));
    }

    /// @dev One member serves: not `other`, a newcomer, registered under its voting address.
    function _alone(address other) private returns (address member) {
        AnyRoster.seat(COMMITTEE, 1);
        address voter = COMMITTEE.memberAt(COMMITTEE.currentEpoch(), 0);
        member = COMMITTEE.registrantOf(voter);
        VM.assume(other != member);
        VM.assume(COMMITTEE.candidate(member).voter == voter);
        newcomer(member);
    }

    function _convicted(address member, Candidate memory before) private view {
        assert(before.voter != address(0) && !before.slashed);
        Candidate memory convict = COMMITTEE.candidate(member);
        assert(convict.slashed && convict.stake == 0);
        assert(before.servedUntil != SERVING || _excluded() & 1 == 1);
    }

    /// @dev Members whose votes do not count, where slot 0 says that there are any.
    function _excluded() private view returns (uint256) {
        bool incomplete = (uint256(VM.load(address(COMMITTEE), 0)) >> 88) & 1 == 1;
        return incomplete ? uint256(VM.load(address(COMMITTEE), bytes32(EXCLUDED))) : 0;
    }

    function _allSigned(Certificate memory certificate, uint256 chainId, address executor) private view returns (bool) {
        (uint256 x, uint256 y) = AnyRoster.sum();
        bytes32 digest = AnyRoster.digest(COMMITTEE, certificate, chainId, executor);
        return signed(x, y, digest, certificate.nonce, certificate.s);
    }

    function _voted(Equivocation memory evidence, bytes32 content, bytes memory vote) private view returns (address) {
        bytes32 digest = COMMITTEE.decisionDigest(evidence.epoch, evidence.proposal, content);
        (bytes32 r, bytes32 vs) = abi.decode(vote, (bytes32, bytes32));
        return ecrecover(digest, uint8(uint256(vs) >> 255) + 27, r, vs & bytes32(type(uint256).max >> 1));
    }
}
