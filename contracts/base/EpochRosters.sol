// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate, IQuorum, Roster} from "../interfaces/IQuorum.sol";
import {Quorum} from "../lib/Quorum.sol";
import {Secp256k1} from "../lib/Secp256k1.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title Rosters by epoch; checks certificates against the current one
abstract contract EpochRosters is IQuorum {
    struct Epoch {
        bytes32 keyId;
        uint16 size;
        uint16 quorum;
        uint32 threshold;
        bool unanimous;
        uint256 keyX;
        uint256 keyY;
        mapping(uint256 index => address) members;
    }

    uint256 private constant MAX_MEMBERS = 256;
    uint256 private constant VOTE_LENGTH = 64;

    /// @inheritdoc IQuorum
    bytes32 public immutable override domainSeparator;

    /// @inheritdoc IQuorum
    uint64 public override currentEpoch;

    mapping(uint64 epoch => Epoch) private _epochs;

    constructor(uint256 homeChainId, address homeCommittee) {
        domainSeparator = Quorum.domainSeparator(homeChainId, homeCommittee);
    }

    /// @inheritdoc IQuorum
    function keyId(uint64 epoch) external view override returns (bytes32) {
        return _epochs[epoch].keyId;
    }

    /// @inheritdoc IQuorum
    function roster(uint64 epoch) external view override returns (Roster memory members, uint256 quorum) {
        Epoch storage stored = _epochs[epoch];
        address[] memory list = new address[](stored.size);
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = stored.members[i];
        }
        members = Roster(list, stored.threshold, stored.unanimous, stored.keyX, stored.keyY);
        quorum = stored.quorum;
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
    function requireQuorum(Certificate calldata certificate) public view override returns (bytes32) {
        uint64 current = currentEpoch;
        // Before the first epoch the quorum is none of none: nothing is certified.
        if (certificate.epoch != current || current == 0) revert StaleEpoch(certificate.epoch, current);
        Epoch storage stored = _epochs[current];
        _requireEnough(stored, certificate.voters, certificate.votes.length);
        _requireVotes(
            stored,
            certificate.voters,
            certificate.votes,
            decisionDigest(current, certificate.proposal, certificate.contentHash)
        );
        return stored.keyId;
    }

    /// @dev Voting address of a member of an epoch; zero beyond its roster.
    function _member(uint64 epoch, uint256 index) internal view returns (address) {
        return _epochs[epoch].members[index];
    }

    /// @dev Members of an epoch.
    function _size(uint64 epoch) internal view returns (uint256) {
        return _epochs[epoch].size;
    }

    /// @dev Starts `epoch` with a roster from outside. Pre: it follows the current one (or is the first).
    function _startEpoch(uint64 epoch, Roster memory next) internal {
        _requireMembers(next);
        _requireKey(next.keyX, next.keyY);
        _beginEpoch(epoch, next);
    }

    /// @dev Starts `epoch`. Pre: it follows the current one (or is the first); 1 <= t <= n <= 256, members are
    /// distinct and not zero, Y passed `_requireKey`.
    function _beginEpoch(uint64 epoch, Roster memory next) internal {
        bytes32 id = Secp256k1.keyId(next.keyX, next.keyY);
        uint256 quorum = Quorum.size(next.members.length, next.unanimous);
        Epoch storage stored = _epochs[epoch];
        stored.keyId = id;
        stored.size = uint16(next.members.length);
        stored.quorum = uint16(quorum);
        stored.threshold = next.threshold;
        stored.unanimous = next.unanimous;
        stored.keyX = next.keyX;
        stored.keyY = next.keyY;
        for (uint256 i = 0; i < next.members.length; ++i) {
            stored.members[i] = next.members[i];
        }
        currentEpoch = epoch;
        emit EpochStarted(epoch, id, next.members, quorum, next.threshold, next.keyX, next.keyY);
    }

    /// @dev Y on the curve, address(Y) != 0.
    function _requireKey(uint256 keyX, uint256 keyY) internal pure {
        if (!Secp256k1.isOnCurve(keyX, keyY)) revert InvalidRoster("group key is not on secp256k1");
        if (uint160(uint256(Secp256k1.keyId(keyX, keyY))) == 0) {
            revert InvalidRoster("address of the group key is zero");
        }
    }

    /// @dev No bit beyond the roster, 64 bytes a bit, at least a quorum of bits.
    function _requireEnough(Epoch storage stored, uint256 voters, uint256 length) private view {
        uint256 size = stored.size;
        if (size < MAX_MEMBERS && voters >> size != 0) {
            uint256 index = size;
            while ((voters >> index) & 1 == 0) ++index;
            revert UnknownMember(index, size);
        }
        uint256 votes = Quorum.count(voters);
        if (length != votes * VOTE_LENGTH) revert MalformedVotes(length, votes * VOTE_LENGTH);
        if (votes < stored.quorum) revert QuorumNotReached(votes, stored.quorum);
    }

    /// @dev Every vote is the signature (r, vs) of EIP-2098 of its member over `digest`.
    /// Pre: `votes` holds 64 bytes for each set bit of `voters`.
    function _requireVotes(Epoch storage stored, uint256 voters, bytes calldata votes, bytes32 digest) private view {
        uint256 offset = 0;
        for (uint256 index = 0; voters != 0; ++index) {
            if (voters & 1 != 0) {
                bytes32 r;
                bytes32 vs;
                assembly ("memory-safe") {
                    r := calldataload(add(votes.offset, offset))
                    vs := calldataload(add(votes.offset, add(offset, 0x20)))
                }
                unchecked {
                    offset += VOTE_LENGTH;
                }
                // slither-disable-next-line unused-return
                (address recovered,,) = ECDSA.tryRecover(digest, r, vs);
                address expected = stored.members[index];
                if (recovered != expected) revert InvalidVote(index, recovered, expected);
            }
            voters >>= 1;
        }
    }

    /// @dev 1 <= t <= n <= 256, members distinct and not zero.
    function _requireMembers(Roster memory next) private pure {
        address[] memory members = next.members;
        uint256 size = members.length;
        if (size == 0) revert InvalidRoster("no members");
        if (size > MAX_MEMBERS) revert InvalidRoster("more than 256 members");
        if (next.threshold == 0) revert InvalidRoster("threshold is zero");
        if (next.threshold > size) revert InvalidRoster("threshold above the number of members");
        for (uint256 i = 0; i < size; ++i) {
            if (members[i] == address(0)) revert InvalidRoster("a member is the zero address");
            for (uint256 j = 0; j < i; ++j) {
                if (members[i] == members[j]) revert InvalidRoster("a member is listed twice");
            }
        }
    }
}
