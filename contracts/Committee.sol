// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {EpochRosters} from "./base/EpochRosters.sol";
import {Sortition} from "./base/Sortition.sol";
import {Stakes} from "./base/Stakes.sol";
import {Equivocation, ICommittee, Signed} from "./interfaces/ICommittee.sol";
import {Certificate} from "./interfaces/IQuorum.sol";
import {Candidate, Parameters} from "./interfaces/IStakes.sol";
import {IVrfVerifier} from "./interfaces/IVrfVerifier.sol";
import {Signature64} from "./lib/Signature64.sol";

/// @title The committee on its home chain, elected by stake, trust and verifiable randomness
contract Committee is Sortition, ICommittee {
    /// @inheritdoc ICommittee
    mapping(uint64 epoch => mapping(bytes32 proposal => uint256 voters)) public override credited;

    mapping(uint64 epoch => uint256) private _reported;

    /// @param vrf_ A VrfVerifier.
    /// @param rules Fixed for ever.
    /// @param founders The only accounts that may stand for the first committee, at least `minimum`; without founders,
    /// everybody may.
    constructor(IVrfVerifier vrf_, Parameters memory rules, address[] memory founders)
        EpochRosters(block.chainid, address(this))
        Stakes(vrf_, rules)
        Sortition(founders)
    {}

    /// @inheritdoc ICommittee
    function report(Certificate calldata certificate, uint256 chainId, address executor) external override {
        _requireQuorum(certificate, chainId, executor);
        (uint64 epoch, bytes32 proposal) = (certificate.epoch, certificate.proposal);
        uint256 known = credited[epoch][proposal];
        uint256 voters = certificate.voters & ~(known | _excluded());
        if (voters == 0) revert NothingToCredit(proposal, certificate.voters);
        if (known == 0) ++_reported[epoch];
        credited[epoch][proposal] = known | voters;
        emit Reported(epoch, proposal, voters);
        for (uint256 index = 0; voters >> index != 0; ++index) {
            if ((voters >> index) & 1 != 0) _credit(registrantOf[_member(epoch, index)]);
        }
    }

    /// @inheritdoc ICommittee
    function slash(Equivocation calldata evidence) external override {
        if (evidence.firstContent == evidence.secondContent) revert SameContent(evidence.firstContent);
        address member = _member(evidence.epoch, evidence.index);
        _requireVote(evidence, evidence.firstContent, evidence.firstVote, member);
        _requireVote(evidence, evidence.secondContent, evidence.secondVote, member);
        _convict(member);
    }

    /// @inheritdoc ICommittee
    function slashSigner(Signed calldata first, Signed calldata second, uint256 index) external override {
        (Certificate calldata one, Certificate calldata other) = (first.certificate, second.certificate);
        if (one.contentHash == other.contentHash) revert SameContent(one.contentHash);
        address member = _member(one.epoch, index);
        bool both = ((one.voters & other.voters) >> index) & 1 == 1;
        if (one.epoch != other.epoch || one.proposal != other.proposal || member == address(0) || !both) {
            revert InvalidEvidence(index, address(0), member);
        }
        uint256 size = _size(one.epoch);
        _requireSigned(_roster(one.epoch), size, one, first.chainId, first.executor);
        _requireSigned(_roster(one.epoch), size, other, second.chainId, second.executor);
        _convict(member);
    }

    function _reports() internal view override returns (uint256) {
        return _reported[currentEpoch()];
    }

    /// @dev Counts a vote; the first `creditedVotes` of an epoch are good experiences.
    function _credit(address registrant) private {
        Candidate storage entry = _candidates[registrant];
        if (entry.votes == _parameters.creditedVotes) return;
        ++entry.votes;
        _experience(registrant, 1, 0);
    }

    function _convict(address member) private {
        address registrant = registrantOf[member];
        Candidate storage entry = _known(registrant);
        if (entry.slashed) revert Excluded(registrant);
        _slash(registrant, msg.sender);
        _dismiss(entry);
    }

    function _requireVote(Equivocation calldata evidence, bytes32 content, bytes calldata vote, address member)
        private
        view
    {
        address recovered = Signature64.recover(decisionDigest(evidence.epoch, evidence.proposal, content), vote);
        if (member == address(0) || recovered != member) revert InvalidEvidence(evidence.index, recovered, member);
    }
}
