// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "./ICertified.sol";
import {ILiveChain} from "./ILiveChain.sol";
import {Action} from "./IQuorum.sol";

/// @notice An account that trains and publishes models.
struct Participant {
    /// From 1 in the order of joining, its own for ever; 0 when it never joined.
    uint32 number;
    /// Block in which it joined last; 0 when it is not joined.
    uint64 since;
    /// The committee has barred it: it is not joined and cannot join.
    bool barred;
    /// The committee has admitted it.
    bool admitted;
}

/// @notice What the committee has decided about a request.
enum RequestState {
    /// Nobody filed it.
    Unknown,
    /// Filed, and not decided.
    Filed,
    /// The committee has read it: it takes hand-ins up to its deadline.
    Admitted,
    /// The committee has refused it, or could not read it.
    Dismissed
}

/// @notice A request, two slots. What it asks is in the file that its event names.
struct FiledRequest {
    /// First 24 bytes of `keccak256(abi.encode(by, digest, codec, blocks, height))`, which its event opens.
    bytes24 content;
    /// Last block that takes hand-ins; 0 unless the request was admitted.
    uint64 deadline;
    /// The participant that filed it.
    address by;
    /// Height of the live chain when it was filed: it reaches no model that was published later.
    uint32 height;
    /// Blocks for which it takes hand-ins, from its admission on.
    uint24 blocks;
    /// Index of the place that it holds among those of its participant.
    uint8 place;
    RequestState state;
}

/// @title The federation file, the participants, and the requests that they file and work on
/// @notice Participants join and leave alone. The committee can admit an account, bar it and lift that again, replace
/// the federation file's digest, and admit or dismiss a request, once. Files of requests and of hand-ins are named by
/// their CIDs (sha2-256 digest and codec); whoever reads them checks their signatures.
/// @dev A number is given once, so `seats` bounds all who ever join: where everybody may join, whoever pays for enough
/// accounts takes all seats. A federation that strangers can reach has its committee admit participants.
interface IParticipantRegistry is ICertified {
    event FileChanged(bytes32 digest);
    event ParticipantAdmitted(address indexed account);
    event ParticipantJoined(address indexed account, uint32 indexed number);
    event ParticipantLeft(address indexed account, uint32 indexed number);
    event ParticipantBarred(address indexed account);
    event ParticipantReadmitted(address indexed account);
    /// @notice An account is reached at `url`, by TLS pinned to `key`; at an empty `url` no more.
    event Announced(address indexed account, address key, string url);
    event Filed(uint32 indexed number, address indexed by, bytes32 digest, uint8 codec, uint64 blocks, uint32 height);
    event RequestAdmitted(uint32 indexed number, bytes32 indexed proposal, uint64 deadline);
    event RequestDismissed(uint32 indexed number, bytes32 indexed proposal);
    event HandedIn(uint32 indexed request, uint64 indexed position, address indexed by, bytes32 digest, uint8 codec);

    error NotDeployer(address caller, address deployer);
    error AlreadyFounded(bytes32 digest);
    /// @notice The digest is zero, or the one that stands.
    error InvalidFile(bytes32 digest);
    /// @notice The account already is as the action would have it.
    error NothingToChange(address account);
    error ParticipantIsBarred(address account);
    error NotAdmitted(address account);
    error AlreadyJoined(address account);
    error NotJoined(address account);
    error AllSeatsTaken(uint32 seats);
    /// @notice A URL has at most 200 bytes, each a printable character of ASCII other than space, and a key.
    error InvalidEndpoint(address account);
    error UnknownCodec(uint8 codec);
    /// @notice A request takes hand-ins for 1 to `most` blocks.
    error InvalidDuration(uint64 blocks, uint64 most);
    /// @notice The account has `places` requests that are not decided, or were dismissed a short while ago.
    error AllPlacesTaken(address account, uint256 places);
    /// @notice The committee has decided about the request, or nobody filed it.
    error RequestNotWaiting(uint32 request);
    /// @notice The committee has not admitted the request, or nobody filed it.
    error RequestNotAdmitted(uint32 request);
    /// @notice The request's deadline, the last block that takes hand-ins, has passed.
    error RequestClosed(uint32 request, uint64 deadline);
    /// @notice The account has handed in `most` parts in the present period of HOLD_BLOCKS blocks.
    error TooManyHandIns(address account, uint256 most);

    /// @notice Most blocks for which a request takes hand-ins.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_BLOCKS() external view returns (uint64);
    /// @notice Most requests of one account that are not decided, and its dismissed ones of the last HOLD_BLOCKS blocks.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_PLACES() external view returns (uint256);
    /// @notice Blocks for which a dismissed request holds its place, and of a period of hand-ins.
    // solhint-disable-next-line func-name-mixedcase
    function HOLD_BLOCKS() external view returns (uint64);
    /// @notice Most hand-ins of one account in a period.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_HAND_INS() external view returns (uint256);
    /// @notice The chain whose height a request notes.
    function live() external view returns (ILiveChain);
    /// @notice The account that deployed this contract and founds the federation.
    function deployer() external view returns (address);
    /// @notice Most accounts that ever join.
    function seats() external view returns (uint32);
    /// @notice Whether accounts join without being admitted.
    function open() external view returns (bool);

    /// @notice Digest of the federation file; 0 before the federation is founded.
    function fileDigest() external view returns (bytes32);
    /// @notice Accounts that have a number.
    function count() external view returns (uint32);
    /// @notice Requests that were filed; the newest has this number.
    function requests() external view returns (uint32);
    /// @notice What is known of an account.
    function participant(address account) external view returns (Participant memory);
    /// @notice The account that has a number; 0 when none has.
    function accountOf(uint32 number) external view returns (address);
    /// @notice Where an account is reached: address of the secp256k1 key that its TLS certificate is pinned to, and
    /// URL; both empty when it has announced none.
    function endpoint(address account) external view returns (address key, string memory url);
    /// @notice What is stored of a request; zeros for an unknown one.
    function filed(uint32 number) external view returns (FiledRequest memory);

    /// @notice Sets the federation file's digest.
    /// @dev By the deployer only, while it is zero. Emits FileChanged. Reverts with NotDeployer, AlreadyFounded or
    /// InvalidFile.
    function found(bytes32 digest) external;
    /// @notice Replaces the federation file's digest, or sets it where the deployer has not.
    /// @dev Digest of the action: `keccak256(abi.encode(digest))`. Emits FileChanged. Reverts with InvalidFile.
    function changeFile(bytes32 digest, Action calldata action) external;

    /// @notice Joins the caller, with the next number or the one that it had.
    /// @dev Emits ParticipantJoined. Reverts with ParticipantIsBarred, AlreadyJoined, NotAdmitted or AllSeatsTaken.
    function join() external;
    /// @notice Removes the caller, who keeps its number. What it filed and handed in stays.
    /// @dev Emits ParticipantLeft. Reverts with NotJoined.
    function leave() external;
    /// @notice Lets an account join a registry that is not open.
    /// @dev Digest of the action: `keccak256(abi.encode(account))`. Emits ParticipantAdmitted. Reverts with
    /// NothingToChange.
    function admit(address account, Action calldata action) external;
    /// @notice Bars an account, which removes it if it is joined; or readmits it, which does not join it.
    /// @dev Digest of the action: `keccak256(abi.encode(account, barred))`.
    /// Emits ParticipantBarred or ParticipantReadmitted. Reverts with NothingToChange.
    function setBarred(address account, bool barred, Action calldata action) external;

    /// @notice Says where the caller is reached; an empty `url` removes its entry.
    /// @dev Open to every account: members are elected under voting keys that need not be accounts, and are reached
    /// before their epoch begins, so the chain cannot tell here who is one. Readers look up whom they know.
    /// Emits Announced. Reverts with InvalidEndpoint.
    function announce(address key, string calldata url) external;

    /// @notice Files a request, which takes hand-ins for `blocks` blocks once it is admitted.
    /// @dev By joined participants only. It holds one of the account's MAX_PLACES places until it is admitted; where it
    /// is dismissed, for HOLD_BLOCKS blocks more. So what an account asks the committee to read is bounded.
    /// Post: filed(number).height = live.height().
    /// Emits Filed. Reverts with ParticipantIsBarred, NotJoined, UnknownCodec, InvalidDuration or AllPlacesTaken.
    function file(bytes32 digest, uint8 codec, uint64 blocks) external returns (uint32 number);
    /// @notice Admits a request, or dismisses it: once, for ever.
    /// @dev Digest of the action: `keccak256(abi.encode(number, filed(number).content, admitted))`. So a decision is
    /// about what members have read, also where the chain was reorganised and another request has its number.
    /// `progress` does not count a proposal of one chunk, which cannot run twice; the event names it.
    /// Post: deadline = block.number + blocks where it is admitted.
    /// Emits RequestAdmitted or RequestDismissed. Reverts with RequestNotWaiting.
    function decide(uint32 number, bool admitted, Action calldata action) external;
    /// @notice Hands in the caller's part of a request for the model at `position`; the event is all that is kept.
    /// @dev By joined participants only, at most MAX_HAND_INS in a period of HOLD_BLOCKS blocks. Emits HandedIn.
    /// Reverts with ParticipantIsBarred, NotJoined, UnknownCodec, RequestNotAdmitted, RequestClosed or TooManyHandIns.
    function handIn(uint32 request, uint64 position, bytes32 digest, uint8 codec) external;
}
