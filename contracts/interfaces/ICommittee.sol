// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAcknowledgements} from "./IAcknowledgements.sol";
import {IElection} from "./IElection.sol";
import {Certificate, IQuorum} from "./IQuorum.sol";
import {IStakes} from "./IStakes.sol";

/// @notice Two votes of one member on one proposal of one epoch, with different content.
struct Equivocation {
    uint64 epoch;
    bytes32 proposal;
    /// The member's index in the roster of the epoch.
    uint256 index;
    bytes32 firstContent;
    /// 64 bytes, EIP-2098.
    bytes firstVote;
    bytes32 secondContent;
    bytes secondVote;
}

/// @notice A certificate, and the contract that it was signed for.
struct Signed {
    Certificate certificate;
    uint256 chainId;
    address executor;
}

/// @title The committee on its home chain, elected by stake, trust and verifiable randomness
interface ICommittee is IQuorum, IAcknowledgements, IStakes, IElection {
    /// @notice A certificate's votes were credited; bit i is set for member i.
    event Reported(uint64 indexed epoch, bytes32 indexed proposal, uint256 voters);

    /// @notice No vote of the certificate is to be credited.
    error NothingToCredit(bytes32 proposal, uint256 voters);
    /// @notice Both votes are on the same content.
    error SameContent(bytes32 content);
    /// @notice A vote of the evidence is not of the member at `index`.
    error InvalidEvidence(uint256 index, address recovered, address member);

    /// @notice Votes on a proposal that were credited; bit i is set for member i.
    function credited(uint64 epoch, bytes32 proposal) external view returns (uint256 voters);

    /// @notice Credits the voters of a certificate of the current epoch, each member once a proposal. Anyone may.
    /// @dev `chainId` and `executor`: the contract that it was signed for. Emits Reported and TrustChanged. Reverts with
    /// NothingToCredit and as requireQuorum.
    function report(Certificate calldata certificate, uint256 chainId, address executor) external;

    /// @notice Burns the stake of a member that voted twice on a proposal, less the caller's reward, and excludes it for
    /// ever. If it serves, its votes do not count from here on; if it was elected, its place stays empty.
    /// @dev Emits Slashed and Burnt. Reverts with SameContent, InvalidEvidence, UnknownCandidate or Excluded.
    function slash(Equivocation calldata evidence) external;

    /// @notice The same for the member at `index`, which signed two certificates of one proposal with different content.
    /// @dev Emits and reverts as slash, and as requireQuorum for a certificate that its voters did not sign.
    function slashSigner(Signed calldata first, Signed calldata second, uint256 index) external;
}
