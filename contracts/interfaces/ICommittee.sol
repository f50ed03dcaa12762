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

/// @notice A certificate and the contract that it was signed for.
struct Signed {
    Certificate certificate;
    uint256 chainId;
    address executor;
}

/// @title The committee on its home chain, elected by stake, trust and verifiable randomness
interface ICommittee is IQuorum, IAcknowledgements, IStakes, IElection {
    /// @notice Votes of a certificate were credited; bit i is set for member i.
    event Reported(uint64 indexed epoch, bytes32 indexed proposal, uint256 voters);

    /// @notice All votes of the certificate were credited before.
    error NothingToCredit(bytes32 proposal, uint256 voters);
    /// @notice Both votes have the same content.
    error SameContent(bytes32 content);
    /// @notice A vote of the evidence is not by the member at `index`.
    error InvalidEvidence(uint256 index, address recovered, address member);

    /// @notice Credited votes on a proposal; bit i is set for member i.
    function credited(uint64 epoch, bytes32 proposal) external view returns (uint256 voters);

    /// @notice Credits the voters of a certificate of the current epoch, each once for a proposal. Anyone may call it.
    /// @dev `chainId` and `executor`: the contract that it was signed for. Emits Reported and TrustChanged. Reverts
    /// with NothingToCredit, and the errors of requireQuorum.
    function report(Certificate calldata certificate, uint256 chainId, address executor) external;

    /// @notice Burns the stake of a member that voted twice on a proposal, less the caller's reward, and excludes the
    /// member for ever. The votes of a serving member no longer count; the place of an elected member stays empty.
    /// @dev Emits Slashed and Burnt. Reverts with SameContent, InvalidEvidence, UnknownCandidate or Excluded.
    function slash(Equivocation calldata evidence) external;

    /// @notice As `slash`, for the member at `index`, which signed two certificates of one proposal with different
    /// content.
    /// @dev Emits and reverts as slash; reverts as requireQuorum for a certificate that its voters did not sign.
    function slashSigner(Signed calldata first, Signed calldata second, uint256 index) external;
}
