// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate, IQuorum, Roster} from "../interfaces/IQuorum.sol";
import {Quorum} from "../lib/Quorum.sol";
import {RosterCode, RosterCodes} from "../lib/RosterCode.sol";
import {Schnorr} from "../lib/Schnorr.sol";
import {Secp256k1} from "../lib/Secp256k1.sol";

/// @title Rosters by epoch; checks certificates against the current roster
abstract contract EpochRosters is IQuorum {
    /// @dev One slot with everything that a certificate of the current epoch is checked against, except the roster's
    /// code.
    struct Current {
        uint64 epoch;
        uint16 size;
        bool unanimous;
        /// Whether `_excluded` names members.
        bool incomplete;
        RosterCode roster;
    }

    uint256 private constant MAX_MEMBERS = 256;

    /// @inheritdoc IQuorum
    bytes32 public immutable override domainSeparator;

    Current private _current;
    mapping(uint64 epoch => RosterCode) private _rosters;

    constructor(uint256 homeChainId, address homeCommittee) {
        domainSeparator = Quorum.domainSeparator(homeChainId, homeCommittee);
    }

    /// @inheritdoc IQuorum
    function currentEpoch() public view override returns (uint64) {
        return _current.epoch;
    }

    /// @inheritdoc IQuorum
    function keyId(uint64 epoch) external view override returns (bytes32) {
        return _rosters[epoch].keyId();
    }

    /// @inheritdoc IQuorum
    function roster(uint64 epoch) external view override returns (Roster memory members, uint256 quorum) {
        members = _rosters[epoch].load();
        quorum = Quorum.size(members.members.length, members.unanimous);
    }

    /// @inheritdoc IQuorum
    function memberAt(uint64 epoch, uint256 index) external view override returns (address) {
        return _member(epoch, index);
    }

    /// @inheritdoc IQuorum
    function decisionDigest(uint64 epoch, bytes32 proposal, bytes32 contentHash)
        public
        view
        override
        returns (bytes32)
    {
        return Quorum.decisionDigest(domainSeparator, epoch, proposal, contentHash);
    }

    /// @inheritdoc IQuorum
    function certifiedDigest(Certificate calldata certificate, uint256 chainId, address executor)
        public
        view
        override
        returns (bytes32)
    {
        return Quorum.certifiedDigest(domainSeparator, certificate, chainId, executor);
    }

    /// @inheritdoc IQuorum
    function requireQuorum(Certificate calldata certificate) external view override returns (bytes32) {
        return _requireQuorum(certificate, block.chainid, msg.sender);
    }

    /// @dev Returns the current group key's identifier if a quorum of the current epoch signed for `executor`.
    function _requireQuorum(Certificate calldata certificate, uint256 chainId, address executor)
        internal
        view
        returns (bytes32)
    {
        Current memory current = _current;
        // Before the first epoch, the quorum of an empty roster would be empty.
        if (certificate.epoch != current.epoch || current.epoch == 0) {
            revert StaleEpoch(certificate.epoch, current.epoch);
        }
        uint256 voters = certificate.voters;
        if (current.incomplete) voters &= ~_excluded();
        uint256 votes = Quorum.count(voters);
        uint256 needed = Quorum.size(current.size, current.unanimous);
        if (votes < needed) revert QuorumNotReached(votes, needed);
        return _requireSigned(current.roster, current.size, certificate, chainId, executor);
    }

    /// @dev Returns the roster's group key identifier if the named voters signed the certificate.
    function _requireSigned(
        RosterCode members,
        uint256 size,
        Certificate calldata certificate,
        uint256 chainId,
        address executor
    ) internal view returns (bytes32 id) {
        uint256 all = type(uint256).max >> (MAX_MEMBERS - size);
        uint256 voters = certificate.voters;
        if (voters > all) {
            uint256 index = size;
            while ((voters >> index) & 1 == 0) ++index;
            revert UnknownMember(index, size);
        }
        uint256 x;
        uint256 y;
        (id, x, y) = members.signers(all & ~voters);
        bytes32 digest = certifiedDigest(certificate, chainId, executor);
        if (!Schnorr.verify(x, y, digest, certificate.nonce, certificate.s)) revert InvalidCertificate(digest, voters);
    }

    /// @dev Roster of an epoch; zero for an unknown epoch.
    function _roster(uint64 epoch) internal view returns (RosterCode) {
        return _rosters[epoch];
    }

    /// @dev Bitmap of members of the current epoch whose votes do not count. The quorum does not change.
    function _excluded() internal view virtual returns (uint256) {
        return 0;
    }

    /// @dev Makes checks read `_excluded`; call it when members of the current epoch are excluded.
    function _setIncomplete() internal {
        _current.incomplete = true;
    }

    /// @dev Voting address of a member of an epoch; zero beyond its roster.
    function _member(uint64 epoch, uint256 index) internal view returns (address) {
        return _rosters[epoch].member(index);
    }

    /// @dev Number of members of an epoch.
    function _size(uint64 epoch) internal view returns (uint256) {
        return _rosters[epoch].size();
    }

    /// @dev Starts `epoch` with an unchecked roster. Pre: it is the first epoch or follows the current one.
    function _startEpoch(uint64 epoch, Roster memory next) internal {
        _requireMembers(next);
        _requireKey(next.keyX, next.keyY);
        _beginEpoch(epoch, next);
    }

    /// @dev Starts `epoch`. Pre: it is the first epoch or follows the current one; 1 <= t <= n <= 256, voting keys are
    /// distinct and on the curve, Y passed `_requireKey`.
    function _beginEpoch(uint64 epoch, Roster memory next) internal {
        uint256 size = next.members.length;
        uint256 quorum = Quorum.size(size, next.unanimous);
        RosterCode stored = RosterCodes.store(next);
        _rosters[epoch] = stored;
        _current = Current(epoch, uint16(size), next.unanimous, false, stored);
        address[] memory members = new address[](size);
        for (uint256 i = 0; i < size; ++i) {
            members[i] = Secp256k1.account(next.members[i].x, next.members[i].y);
        }
        bytes32 id = Secp256k1.keyId(next.keyX, next.keyY);
        emit EpochStarted(epoch, id, members, quorum, next.threshold, next.keyX, next.keyY);
    }

    /// @dev Y on the curve, address(Y) != 0.
    function _requireKey(uint256 keyX, uint256 keyY) internal pure {
        if (!Secp256k1.isOnCurve(keyX, keyY)) revert InvalidRoster("group key is not on secp256k1");
        if (Secp256k1.account(keyX, keyY) == address(0)) revert InvalidRoster("address of the group key is zero");
    }

    /// @dev 1 <= t <= n <= 256, keys distinct and on the curve.
    function _requireMembers(Roster memory next) private pure {
        uint256 size = next.members.length;
        if (size == 0) revert InvalidRoster("no members");
        if (size > MAX_MEMBERS) revert InvalidRoster("more than 256 members");
        if (next.threshold == 0) revert InvalidRoster("threshold is zero");
        if (next.threshold > size) revert InvalidRoster("threshold above the number of members");
        for (uint256 i = 0; i < size; ++i) {
            (uint256 x, uint256 y) = (next.members[i].x, next.members[i].y);
            if (!Secp256k1.isOnCurve(x, y)) revert InvalidRoster("a voting key is not on secp256k1");
            for (uint256 j = 0; j < i; ++j) {
                if (x == next.members[j].x && y == next.members[j].y) revert InvalidRoster("a member is listed twice");
            }
        }
    }
}
