// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {ILiveChain} from "./ILiveChain.sol";
import {Action} from "./IQuorum.sol";

/// @notice An account that trains and publishes models.
struct Participant {
    /// From 1 in the order of joining, kept for ever; 0 if the account never joined.
    uint32 number;
    /// Block in which it last joined; 0 if it is not a participant.
    uint64 since;
    /// Whether the committee has barred it; a barred account is no participant and cannot join.
    bool barred;
    /// Whether the committee has admitted it.
    bool admitted;
}

/// @notice The committee's decision on a request.
enum RequestState {
    /// Not filed.
    Unknown,
    /// Filed and undecided.
    Filed,
    /// The committee has read it; it accepts hand-ins until its deadline.
    Admitted,
    /// The committee has refused it, or could not read it.
    Dismissed
}

/// @notice A request, two slots. Its event names the file with its content.
struct FiledRequest {
    /// First 24 bytes of `keccak256(abi.encode(by, digest, codec, blocks, height))`; its event has these values.
    bytes24 content;
    /// Last block that accepts hand-ins; 0 unless the request was admitted.
    uint64 deadline;
    /// The participant that filed it.
    address by;
    /// Height of the live chain at filing: the request reaches no model published later.
    uint32 height;
    /// Number of blocks after its admission that accept hand-ins.
    uint24 blocks;
    /// Index of its place among the places of its participant.
    uint8 place;
    RequestState state;
}

/// @title The federation file, the participants, and their requests
/// @notice Participants join and leave on their own. The committee can admit, bar and readmit an account, replace the
/// federation file's digest, and admit or dismiss a request once. Files of requests and of hand-ins are named by their
/// CIDs (sha2-256 digest and codec); their readers check the signatures.
/// @dev A number is given once, so `seats` limits all accounts that ever join. If everybody may join, an attacker who
/// pays for enough accounts takes all seats. A federation that strangers can reach should have its committee admit
/// participants.
interface IParticipantRegistry is ICertified {
    event FileChanged(bytes32 digest);
    event ParticipantAdmitted(address indexed account);
    event ParticipantJoined(address indexed account, uint32 indexed number);
    event ParticipantLeft(address indexed account, uint32 indexed number);
    event ParticipantBarred(address indexed account);
    event ParticipantReadmitted(address indexed account);
    /// @notice An account is reachable at `url`, by TLS pinned to `key`; an empty `url` ends this.
    event Announced(address indexed account, address key, string url);
    event Filed(uint32 indexed number, address indexed by, bytes32 digest, uint8 codec, uint64 blocks, uint32 height);
    event RequestAdmitted(uint32 indexed number, bytes32 indexed proposal, uint64 deadline);
    event RequestDismissed(uint32 indexed number, bytes32 indexed proposal);
    event HandedIn(uint32 indexed request, uint64 indexed position, address indexed by, bytes32 digest, uint8 codec);
    /// @notice An account has declared a file on the model at `position`: its recipients, or answers to a recall.
    event Declared(uint64 indexed position, address indexed by, bytes32 digest, uint8 codec);

    error NotDeployer(address caller, address deployer);
    error AlreadyFounded(bytes32 digest);
    /// @notice The digest is zero or equals the current one.
    error InvalidFile(bytes32 digest);
    /// @notice The account already has the requested state.
    error NothingToChange(address account);
    error ParticipantIsBarred(address account);
    error NotAdmitted(address account);
    error AlreadyJoined(address account);
    error NotJoined(address account);
    error AllSeatsTaken(uint32 seats);
    /// @notice The URL exceeds 200 bytes, has characters other than printable ASCII without space, or lacks a key.
    error InvalidEndpoint(address account);
    error UnknownCodec(uint8 codec);
    /// @notice The duration is not 1 to `most` blocks.
    error InvalidDuration(uint64 blocks, uint64 most);
    /// @notice The account has `places` requests that are undecided or were dismissed recently.
    error AllPlacesTaken(address account, uint256 places);
    /// @notice The request is decided or unknown.
    error RequestNotWaiting(uint32 request);
    /// @notice The request is not admitted.
    error RequestNotAdmitted(uint32 request);
    /// @notice The request's deadline, the last block that accepts hand-ins, has passed.
    error RequestClosed(uint32 request, uint64 deadline);
    /// @notice The account has handed in `most` parts in the current period of HOLD_BLOCKS blocks.
    error TooManyHandIns(address account, uint256 most);

    /// @notice Maximum number of blocks in which a request accepts hand-ins.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_BLOCKS() external view returns (uint64);
    /// @notice Maximum number of an account's requests that are undecided or were dismissed in the last HOLD_BLOCKS
    /// blocks.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_PLACES() external view returns (uint256);
    /// @notice Number of blocks that a dismissed request keeps its place, and that a period of hand-ins lasts.
    // solhint-disable-next-line func-name-mixedcase
    function HOLD_BLOCKS() external view returns (uint64);
    /// @notice Maximum number of hand-ins of one account in a period.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_HAND_INS() external view returns (uint256);
    /// @notice The live chain, whose height is stored with each request.
    function live() external view returns (ILiveChain);
    /// @notice The account that deployed this contract and founds the federation.
    function deployer() external view returns (address);
    /// @notice Maximum number of accounts that ever join.
    function seats() external view returns (uint32);
    /// @notice Whether accounts may join without admission.
    function open() external view returns (bool);

    /// @notice Digest of the federation file; 0 before the federation is founded.
    function fileDigest() external view returns (bytes32);
    /// @notice Number of accounts that have a number.
    function count() external view returns (uint32);
    /// @notice Number of requests filed, which is the newest request's number.
    function requests() external view returns (uint32);
    /// @notice The state of an account.
    function participant(address account) external view returns (Participant memory);
    /// @notice The account with a number, or 0.
    function accountOf(uint32 number) external view returns (address);
    /// @notice The endpoint of an account: address of the secp256k1 key that its TLS certificate is pinned to, and URL;
    /// both empty if it has announced none.
    function endpoint(address account) external view returns (address key, string memory url);
    /// @notice The stored state of a request; zeros for an unknown one.
    function filed(uint32 number) external view returns (FiledRequest memory);

    /// @notice Sets the federation file's digest.
    /// @dev Only the deployer may call it, while the digest is zero. Emits FileChanged. Reverts with NotDeployer,
    /// AlreadyFounded or InvalidFile.
    function found(bytes32 digest) external;
    /// @notice Replaces the federation file's digest, or sets it if the deployer has not.
    /// @dev Digest of the action: `keccak256(abi.encode(digest))`. Emits FileChanged. Reverts with InvalidFile.
    function changeFile(bytes32 digest, Action calldata action) external;

    /// @notice Joins the caller, with its earlier number or the next one.
    /// @dev Emits ParticipantJoined. Reverts with ParticipantIsBarred, AlreadyJoined, NotAdmitted or AllSeatsTaken.
    function join() external;
    /// @notice Removes the caller, which keeps its number. Its requests and hand-ins remain.
    /// @dev Emits ParticipantLeft. Reverts with NotJoined.
    function leave() external;
    /// @notice Lets an account join a registry that is not open.
    /// @dev Digest of the action: `keccak256(abi.encode(account))`. Emits ParticipantAdmitted. Reverts with
    /// NothingToChange.
    function admit(address account, Action calldata action) external;
    /// @notice Bars an account, which removes a participant; or readmits it, without joining it.
    /// @dev Digest of the action: `keccak256(abi.encode(account, barred))`.
    /// Emits ParticipantBarred or ParticipantReadmitted. Reverts with NothingToChange.
    function setBarred(address account, bool barred, Action calldata action) external;

    /// @notice Announces the caller's endpoint; an empty `url` removes it.
    /// @dev Open to every account: members are elected under voting keys that need not be accounts, and must be
    /// reachable before their epoch begins, so the contract cannot tell here who is a member. Readers look up accounts
    /// that they know. Emits Announced. Reverts with InvalidEndpoint.
    function announce(address key, string calldata url) external;

    /// @notice Files a request, which accepts hand-ins for `blocks` blocks after its admission.
    /// @dev Only for joined participants. The request takes one of the account's MAX_PLACES places until it is
    /// admitted, or until HOLD_BLOCKS blocks after its dismissal. This limits the requests that one account can make
    /// the committee read. Post: filed(number).height = live.height(). Emits Filed. Reverts with ParticipantIsBarred,
    /// NotJoined, UnknownCodec, InvalidDuration or AllPlacesTaken.
    function file(bytes32 digest, uint8 codec, uint64 blocks) external returns (uint32 number);
    /// @notice Admits or dismisses a request, once and for ever.
    /// @dev Digest of the action: `keccak256(abi.encode(number, filed(number).content, admitted))`. So a decision
    /// applies to the content that members have read, even if a reorganisation gives its number to another request.
    /// `progress` does not count a proposal of one chunk, which cannot run twice; the event names it.
    /// Post: deadline = block.number + blocks if admitted. Emits RequestAdmitted or RequestDismissed.
    /// Reverts with RequestNotWaiting.
    function decide(uint32 number, bool admitted, Action calldata action) external;
    /// @notice Hands in the caller's part of a request for the model at `position`; only the event records it.
    /// @dev Only for joined participants, at most MAX_HAND_INS in a period of HOLD_BLOCKS blocks. Emits HandedIn.
    /// Reverts with ParticipantIsBarred, NotJoined, UnknownCodec, RequestNotAdmitted, RequestClosed or TooManyHandIns.
    function handIn(uint32 request, uint64 position, bytes32 digest, uint8 codec) external;

    /// @notice Declares a file on the model at `position`; only the event records it.
    /// @dev Open to every account: recipients of models are no participants. Readers take the files of accounts that
    /// may speak on that model, its owner and the recipients that the owner has declared, and skip all others. Emits
    /// Declared. Reverts with UnknownCodec.
    function declare(uint64 position, bytes32 digest, uint8 codec) external;
}
