// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certified} from "./base/Certified.sol";
import {ILiveChain} from "./interfaces/ILiveChain.sol";
import {FiledRequest, IParticipantRegistry, Participant, RequestState} from "./interfaces/IParticipantRegistry.sol";
import {Action, IQuorum} from "./interfaces/IQuorum.sol";

/// @title The federation file, the participants, and their requests
contract ParticipantRegistry is IParticipantRegistry, Certified {
    struct Endpoint {
        address key;
        string url;
    }

    /// @dev The hand-ins of an account in one period, `block.number / HOLD_BLOCKS`.
    struct HandIns {
        uint64 period;
        uint64 count;
    }

    uint8 private constant CODEC_RAW = 0x55;
    uint8 private constant CODEC_DAG_PB = 0x70;
    uint256 private constant _MAX_URL = 200;
    /// @dev Last block of the place of an undecided request.
    uint64 private constant _UNDECIDED = type(uint64).max;

    /// @inheritdoc IParticipantRegistry
    /// @dev Four months of blocks of 12 seconds.
    uint64 public constant override MAX_BLOCKS = 1_000_000;
    /// @inheritdoc IParticipantRegistry
    uint256 public constant override MAX_PLACES = 4;
    /// @inheritdoc IParticipantRegistry
    /// @dev A day of blocks of 12 seconds.
    uint64 public constant override HOLD_BLOCKS = 7200;
    /// @inheritdoc IParticipantRegistry
    uint256 public constant override MAX_HAND_INS = 1024;

    /// @inheritdoc IParticipantRegistry
    ILiveChain public immutable override live;
    /// @inheritdoc IParticipantRegistry
    address public immutable override deployer;
    /// @inheritdoc IParticipantRegistry
    uint32 public immutable override seats;
    /// @inheritdoc IParticipantRegistry
    bool public immutable override open;

    /// @inheritdoc IParticipantRegistry
    uint32 public override count;
    /// @inheritdoc IParticipantRegistry
    uint32 public override requests;
    /// @inheritdoc IParticipantRegistry
    bytes32 public override fileDigest;
    /// @inheritdoc IParticipantRegistry
    mapping(uint32 number => address) public override accountOf;
    /// @inheritdoc IParticipantRegistry
    mapping(address account => Endpoint) public override endpoint;

    mapping(address account => Participant) private _participants;
    mapping(uint32 number => FiledRequest) private _filed;
    /// @dev Last block of each place's hold; a place is free after it.
    mapping(address account => uint64[MAX_PLACES]) private _places;
    mapping(address account => HandIns) private _handIns;

    constructor(IQuorum quorum_, ILiveChain live_, uint32 seats_, bool open_) Certified(quorum_) {
        deployer = msg.sender;
        live = live_;
        seats = seats_;
        open = open_;
    }

    /// @inheritdoc IParticipantRegistry
    function participant(address account) external view override returns (Participant memory) {
        return _participants[account];
    }

    /// @inheritdoc IParticipantRegistry
    function filed(uint32 number) external view override returns (FiledRequest memory) {
        return _filed[number];
    }

    /// @inheritdoc IParticipantRegistry
    function found(bytes32 digest) external override {
        if (msg.sender != deployer) revert NotDeployer(msg.sender, deployer);
        if (fileDigest != 0) revert AlreadyFounded(fileDigest);
        _setFile(digest);
    }

    /// @inheritdoc IParticipantRegistry
    function changeFile(bytes32 digest, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.changeFile, (digest, action)));
        _execute(action, keccak256(abi.encode(digest)));
        _setFile(digest);
    }

    /// @inheritdoc IParticipantRegistry
    function join() external override {
        Participant storage caller = _participants[msg.sender];
        if (caller.barred) revert ParticipantIsBarred(msg.sender);
        if (caller.since != 0) revert AlreadyJoined(msg.sender);
        if (!(open || caller.admitted)) revert NotAdmitted(msg.sender);
        if (caller.number == 0) {
            if (count == seats) revert AllSeatsTaken(seats);
            caller.number = ++count;
            accountOf[count] = msg.sender;
        }
        caller.since = uint64(block.number);
        _logged(1);
        emit ParticipantJoined(msg.sender, caller.number);
    }

    /// @inheritdoc IParticipantRegistry
    function leave() external override {
        Participant storage caller = _participants[msg.sender];
        if (caller.since == 0) revert NotJoined(msg.sender);
        caller.since = 0;
        _logged(1);
        emit ParticipantLeft(msg.sender, caller.number);
    }

    /// @inheritdoc IParticipantRegistry
    function admit(address account, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.admit, (account, action)));
        _execute(action, keccak256(abi.encode(account)));
        if (_participants[account].admitted) revert NothingToChange(account);
        _participants[account].admitted = true;
        _logged(1);
        emit ParticipantAdmitted(account);
    }

    /// @inheritdoc IParticipantRegistry
    function setBarred(address account, bool barred, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.setBarred, (account, barred, action)));
        _execute(action, keccak256(abi.encode(account, barred)));
        Participant storage named = _participants[account];
        if (named.barred == barred) revert NothingToChange(account);
        named.barred = barred;
        named.since = 0;
        _logged(1);
        if (barred) emit ParticipantBarred(account);
        else emit ParticipantReadmitted(account);
    }

    /// @inheritdoc IParticipantRegistry
    function announce(address key, string calldata url) external override {
        _logged(1);
        uint256 length = bytes(url).length;
        if (length == 0) {
            delete endpoint[msg.sender];
            emit Announced(msg.sender, address(0), "");
            return;
        }
        if (key == address(0) || length > _MAX_URL) revert InvalidEndpoint(msg.sender);
        // Every log reader decodes this string: bytes that are not UTF-8 would stop it.
        for (uint256 i = 0; i < length; ++i) {
            bytes1 character = bytes(url)[i];
            if (character <= 0x20 || character >= 0x7f) revert InvalidEndpoint(msg.sender);
        }
        endpoint[msg.sender] = Endpoint(key, url);
        emit Announced(msg.sender, key, url);
    }

    /// @inheritdoc IParticipantRegistry
    function file(bytes32 digest, uint8 codec, uint64 blocks) external override returns (uint32 number) {
        _requireJoined();
        _requireKnown(codec);
        if (blocks == 0 || blocks > MAX_BLOCKS) revert InvalidDuration(blocks, MAX_BLOCKS);
        uint32 height = live.height();
        uint8 place = _takePlace();
        number = ++requests;
        _filed[number] = FiledRequest({
            content: bytes24(keccak256(abi.encode(msg.sender, digest, codec, blocks, height))),
            deadline: 0,
            by: msg.sender,
            height: height,
            // At most MAX_BLOCKS, which fits.
            blocks: uint24(blocks),
            place: place,
            state: RequestState.Filed
        });
        _logged(1);
        emit Filed(number, msg.sender, digest, codec, blocks, height);
    }

    /// @inheritdoc IParticipantRegistry
    function decide(uint32 number, bool admitted, Action calldata action) external override {
        _requireCanonical(abi.encodeCall(this.decide, (number, admitted, action)));
        FiledRequest storage request = _filed[number];
        // Decided once, so it cannot run twice.
        _executeUncounted(action, keccak256(abi.encode(number, request.content, admitted)));
        if (request.state != RequestState.Filed) revert RequestNotWaiting(number);
        bytes32 proposal = action.certificate.proposal;
        _logged(1);
        if (admitted) {
            uint64 deadline = uint64(block.number) + request.blocks;
            (request.state, request.deadline) = (RequestState.Admitted, deadline);
            _places[request.by][request.place] = 0;
            emit RequestAdmitted(number, proposal, deadline);
        } else {
            request.state = RequestState.Dismissed;
            _places[request.by][request.place] = uint64(block.number) + HOLD_BLOCKS;
            emit RequestDismissed(number, proposal);
        }
    }

    /// @inheritdoc IParticipantRegistry
    function handIn(uint32 request, uint64 position, bytes32 digest, uint8 codec) external override {
        _requireJoined();
        _requireKnown(codec);
        uint64 deadline = _filed[request].deadline;
        if (deadline == 0) revert RequestNotAdmitted(request);
        if (block.number > deadline) revert RequestClosed(request, deadline);
        _countHandIn();
        _logged(1);
        emit HandedIn(request, position, msg.sender, digest, codec);
    }

    /// @inheritdoc IParticipantRegistry
    function declare(uint64 position, bytes32 digest, uint8 codec) external override {
        _requireKnown(codec);
        _logged(1);
        emit Declared(position, msg.sender, digest, codec);
    }

    /// @dev Takes a free place of the caller until the committee has decided.
    function _takePlace() private returns (uint8 place) {
        uint64[MAX_PLACES] storage places = _places[msg.sender];
        for (place = 0; place < MAX_PLACES; ++place) {
            if (places[place] < block.number) {
                places[place] = _UNDECIDED;
                return place;
            }
        }
        revert AllPlacesTaken(msg.sender, MAX_PLACES);
    }

    function _countHandIn() private {
        HandIns storage counted = _handIns[msg.sender];
        uint64 period = uint64(block.number) / HOLD_BLOCKS;
        // Nobody can choose the period, and hand-ins of other periods do not count.
        // slither-disable-next-line incorrect-equality
        uint64 before = counted.period == period ? counted.count : 0;
        if (before >= MAX_HAND_INS) revert TooManyHandIns(msg.sender, MAX_HAND_INS);
        _handIns[msg.sender] = HandIns(period, before + 1);
    }

    function _setFile(bytes32 digest) private {
        if (digest == 0 || digest == fileDigest) revert InvalidFile(digest);
        fileDigest = digest;
        _logged(1);
        emit FileChanged(digest);
    }

    function _requireJoined() private view {
        Participant storage caller = _participants[msg.sender];
        if (caller.barred) revert ParticipantIsBarred(msg.sender);
        if (caller.since == 0) revert NotJoined(msg.sender);
    }

    function _requireKnown(uint8 codec) private pure {
        if (codec != CODEC_RAW && codec != CODEC_DAG_PB) revert UnknownCodec(codec);
    }
}
