// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {
    FiledRequest,
    IParticipantRegistry,
    Participant,
    RequestState
} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyHeight} from "./support/AnyHeight.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy, SVM} from "./support/Deploy.sol";

/// @notice Participants act for themselves; a quorum changes the file, admits, bars and readmits, and decides on each
/// request once; nothing else changes.
contract ParticipantRegistryChecks is CommitteeChecks {
    /// @dev Any place of each mapping.
    struct Places {
        address account;
        uint32 number;
        uint32 request;
        bytes32 proposal;
    }

    struct Filing {
        bytes32 digest;
        uint8 codec;
        uint64 blocks;
    }

    struct Part {
        uint32 request;
        uint64 position;
        bytes32 digest;
        uint8 codec;
    }

    IParticipantRegistry private constant REGISTRY = IParticipantRegistry(address(0xA11));
    IParticipantRegistry private constant OPEN = IParticipantRegistry(address(0xA22));
    uint32 private constant SEATS = 5;

    /// @dev Words of `_words`, as bits.
    uint256 private constant COUNTERS = 1;
    uint256 private constant FILE = 2;
    uint256 private constant ACCOUNT_OF = 8;
    uint256 private constant FILED = 16 | 32;
    uint256 private constant TAKEN = 512;
    uint256 private constant HANDED_IN = 1024;

    /// @dev Slots of mappings.
    uint256 private constant ENDPOINTS = 4;
    uint256 private constant REQUESTS = 6;
    uint256 private constant PLACES = 7;
    uint256 private constant HAND_INS = 8;

    AnyHeight private _live = new AnyHeight();

    function setUp() external {
        Deploy.inAnyState(address(REGISTRY), "ParticipantRegistry", abi.encode(quorum, _live, SEATS, false));
        Deploy.inAnyState(address(OPEN), "ParticipantRegistry", abi.encode(quorum, _live, SEATS, true));
        SVM.enableSymbolicStorage(address(_live));
    }

    /// @dev This contract is the deployer.
    function check_found(address caller, bytes32 digest, Places memory at) external {
        (bytes32[11] memory before, bytes32 file) = (_words(REGISTRY, at), REGISTRY.fileDigest());
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.found, (digest)))) return;
        assert(caller == address(this) && file == 0);
        assert(digest != 0 && REGISTRY.fileDigest() == digest);
        assert(_onlyIn(REGISTRY, at, before, FILE));
    }

    function check_changeFile(address caller, bytes32 digest, Action memory action, Places memory at) external {
        VM.assume(at.proposal != action.certificate.proposal);
        (bytes32[11] memory before, bytes32 file) = (_words(REGISTRY, at), REGISTRY.fileDigest());
        uint32 chunks = done(address(REGISTRY), action.certificate.proposal);
        bytes memory call = abi.encodeCall(REGISTRY.changeFile, (digest, action));
        if (!passes(caller, address(REGISTRY), call)) return;
        _certified(REGISTRY.changeFile.selector, keccak256(abi.encode(digest)), action, chunks);
        assert(digest != 0 && digest != file && REGISTRY.fileDigest() == digest);
        assert(_onlyIn(REGISTRY, at, before, FILE));
    }

    function check_join(address caller, uint64 height, Places memory at) external {
        _joins(REGISTRY, caller, height, at);
    }

    function check_join_open(address caller, uint64 height, Places memory at) external {
        _joins(OPEN, caller, height, at);
    }

    function check_leave(address caller, Places memory at) external {
        VM.assume(at.account != caller);
        (bytes32[11] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.leave, ()))) return;
        assert(own.since != 0);
        own.since = 0;
        assert(_is(REGISTRY, caller, own) && _onlyIn(REGISTRY, at, before, 0));
    }

    function check_admit(address caller, address account, Action memory action, Places memory at) external {
        VM.assume(at.account != account && at.proposal != action.certificate.proposal);
        (bytes32[11] memory before, Participant memory named) = (_words(REGISTRY, at), REGISTRY.participant(account));
        uint32 chunks = done(address(REGISTRY), action.certificate.proposal);
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.admit, (account, action)))) return;
        _certified(REGISTRY.admit.selector, keccak256(abi.encode(account)), action, chunks);
        assert(!named.admitted);
        named.admitted = true;
        assert(_is(REGISTRY, account, named) && _onlyIn(REGISTRY, at, before, 0));
    }

    function check_setBarred(address caller, address account, bool barred, Action memory action, Places memory at)
        external
    {
        VM.assume(at.account != account && at.proposal != action.certificate.proposal);
        (bytes32[11] memory before, Participant memory named) = (_words(REGISTRY, at), REGISTRY.participant(account));
        uint32 chunks = done(address(REGISTRY), action.certificate.proposal);
        bytes memory call = abi.encodeCall(REGISTRY.setBarred, (account, barred, action));
        if (!passes(caller, address(REGISTRY), call)) return;
        _certified(REGISTRY.setBarred.selector, keccak256(abi.encode(account, barred)), action, chunks);
        assert(named.barred != barred);
        (named.barred, named.since) = (barred, 0);
        assert(_is(REGISTRY, account, named) && _onlyIn(REGISTRY, at, before, 0));
    }

    /// @custom:halmos --array-lengths url={0,1,32} --loop 33
    function check_announce(address caller, address key, string memory url, Places memory at) external {
        VM.assume(at.account != caller);
        // The URL that is replaced has at most 31 bytes.
        VM.assume(uint256(VM.load(address(REGISTRY), bytes32(_place(caller, ENDPOINTS) + 1))) & 1 == 0);
        (bytes32[11] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.announce, (key, url)))) return;
        (address newKey, string memory newUrl) = REGISTRY.endpoint(caller);
        assert(same(bytes(newUrl), bytes(url)) && newKey == (bytes(url).length == 0 ? address(0) : key));
        assert(newKey != address(0) || bytes(url).length == 0);
        assert(_is(REGISTRY, caller, own) && _onlyIn(REGISTRY, at, before, 0));
    }

    /// @custom:halmos --loop 4
    function check_file(address caller, uint64 height, Filing memory filing, Places memory at) external {
        VM.roll(height);
        (bytes32[11] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        (uint32 number, uint256 taken) = (REGISTRY.requests(), _word(_place(caller, PLACES)));
        bytes memory call = abi.encodeCall(REGISTRY.file, (filing.digest, filing.codec, filing.blocks));
        if (!passes(caller, address(REGISTRY), call)) return;
        assert(own.since != 0 && !own.barred && filing.blocks > 0 && filing.blocks <= REGISTRY.MAX_BLOCKS());
        assert(REGISTRY.requests() == ++number);
        FiledRequest memory made = REGISTRY.filed(number);
        assert(made.height == _live.height());
        assert(made.content == bytes24(keccak256(abi.encode(caller, filing, made.height))));
        assert(made.by == caller && made.blocks == filing.blocks && made.deadline == 0);
        assert(made.state == RequestState.Filed);
        // The place was free, and is taken without an end.
        assert(made.place < 4 && _until(taken, made.place) < height);
        assert(_word(_place(caller, PLACES)) == _with(taken, made.place, type(uint64).max));
        uint256 changed = COUNTERS | (at.request == number ? FILED : 0) | (at.account == caller ? TAKEN : 0);
        assert(_onlyIn(REGISTRY, at, before, changed));
    }

    function check_decide(
        address caller,
        uint64 height,
        uint32 number,
        bool admitted,
        Action memory action,
        Places memory at
    ) external {
        VM.roll(height);
        VM.assume(at.request != number && at.proposal != action.certificate.proposal);
        bytes32[11] memory before = _words(REGISTRY, at);
        FiledRequest memory request = _filed(number);
        uint256 taken = _word(_place(request.by, PLACES));
        uint32 chunks = done(address(REGISTRY), action.certificate.proposal);
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.decide, (number, admitted, action)))) return;
        _decided(keccak256(abi.encode(number, request.content, admitted)), action, chunks);
        assert(request.state == RequestState.Filed && request.place < 4);
        taken = _with(taken, request.place, admitted ? 0 : height + 7200);
        assert(_word(_place(request.by, PLACES)) == taken);
        request.state = admitted ? RequestState.Admitted : RequestState.Dismissed;
        if (admitted) request.deadline = height + request.blocks;
        assert(same(abi.encode(REGISTRY.filed(number)), abi.encode(request)));
        assert(_onlyIn(REGISTRY, at, before, at.account == request.by ? TAKEN : 0));
    }

    function check_handIn(address caller, uint64 height, Part memory part, Places memory at) external {
        VM.roll(height);
        (bytes32[11] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        uint256 deadline = _word(_place(part.request, REQUESTS)) >> 192;
        uint256 counted = _word(_place(caller, HAND_INS));
        bytes memory call = abi.encodeCall(REGISTRY.handIn, (part.request, part.position, part.digest, part.codec));
        if (!passes(caller, address(REGISTRY), call)) return;
        assert(own.since != 0 && !own.barred && deadline != 0 && height <= deadline);
        // The period's number, and hand-ins in it.
        uint256 parts = uint64(counted) == height / 7200 ? uint64(counted >> 64) : 0;
        counted = _word(_place(caller, HAND_INS));
        assert(uint64(counted) == height / 7200 && uint64(counted >> 64) == parts + 1 && parts < 1024);
        assert(_onlyIn(REGISTRY, at, before, at.account == caller ? HANDED_IN : 0));
    }

    function check_declare(address caller, uint64 position, bytes32 digest, uint8 codec, Places memory at) external {
        bytes32[11] memory before = _words(REGISTRY, at);
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.declare, (position, digest, codec)))) return;
        assert(codec == 0x55 || codec == 0x70);
        assert(_onlyIn(REGISTRY, at, before, 0));
    }

    function _joins(IParticipantRegistry registry, address caller, uint64 height, Places memory at) private {
        VM.roll(height);
        VM.assume(at.account != caller);
        (bytes32[11] memory before, Participant memory own) = (_words(registry, at), registry.participant(caller));
        (uint32 count, uint32 requests) = (registry.count(), registry.requests());
        VM.assume(count <= SEATS);
        if (!passes(caller, address(registry), abi.encodeCall(registry.join, ()))) return;
        assert(!own.barred && own.since == 0 && (own.admitted || registry.open()));
        bool first = own.number == 0;
        if (first) {
            own.number = count + 1;
            assert(own.number <= SEATS && registry.accountOf(own.number) == caller);
        }
        own.since = height;
        assert(_is(registry, caller, own));
        assert(registry.count() == (first ? own.number : count) && registry.requests() == requests);
        assert(_onlyIn(registry, at, before, COUNTERS | (first && at.number == own.number ? ACCOUNT_OF : 0)));
    }

    /// @dev A quorum has decided on this call, and it was the proposal's next chunk.
    function _certified(bytes4 selector, bytes32 digest, Action memory action, uint32 before) private view {
        assert(holds(address(REGISTRY), action));
        assert(covers(address(REGISTRY), selector, digest, action));
        assert(before == action.chunk && done(address(REGISTRY), action.certificate.proposal) == before + 1);
    }

    /// @dev The same of a decision on a request; a proposal of one chunk is not counted.
    function _decided(bytes32 digest, Action memory action, uint32 before) private view {
        if (action.chunks != 1) return _certified(REGISTRY.decide.selector, digest, action, before);
        assert(holds(address(REGISTRY), action));
        assert(covers(address(REGISTRY), REGISTRY.decide.selector, digest, action));
        assert(action.chunk == 0 && done(address(REGISTRY), action.certificate.proposal) == before);
    }

    function _is(IParticipantRegistry registry, address account, Participant memory expected)
        private
        view
        returns (bool)
    {
        return same(abi.encode(registry.participant(account)), abi.encode(expected));
    }

    /// @dev All that is stored, at these places of the mappings; of a URL its length, or itself where it is short.
    function _words(IParticipantRegistry registry, Places memory at) private view returns (bytes32[11] memory words) {
        words[0] = VM.load(address(registry), bytes32(uint256(1)));
        words[1] = VM.load(address(registry), bytes32(uint256(2)));
        words[2] = VM.load(address(registry), keccak256(abi.encode(at.proposal, 0)));
        words[3] = VM.load(address(registry), keccak256(abi.encode(at.number, 3)));
        words[4] = VM.load(address(registry), bytes32(_place(at.request, REQUESTS)));
        words[5] = VM.load(address(registry), bytes32(_place(at.request, REQUESTS) + 1));
        words[6] = VM.load(address(registry), bytes32(_place(at.account, ENDPOINTS)));
        words[7] = VM.load(address(registry), bytes32(_place(at.account, ENDPOINTS) + 1));
        words[8] = VM.load(address(registry), keccak256(abi.encode(at.account, 5)));
        words[9] = VM.load(address(registry), bytes32(_place(at.account, PLACES)));
        words[10] = VM.load(address(registry), bytes32(_place(at.account, HAND_INS)));
    }

    /// @dev Whether none of these words has changed but those whose bits are in `mask`.
    function _onlyIn(IParticipantRegistry registry, Places memory at, bytes32[11] memory before, uint256 mask)
        private
        view
        returns (bool)
    {
        bytes32[11] memory words = _words(registry, at);
        bytes32 difference;
        for (uint256 i = 0; i < 11; ++i) {
            if ((mask >> i) & 1 == 0) difference |= words[i] ^ before[i];
        }
        return difference == 0;
    }

    /// @dev What is stored of a request: content 192, deadline 64; by 160, height 32, blocks 24, place 8, state 8.
    function _filed(uint32 number) private view returns (FiledRequest memory request) {
        unchecked {
            uint256 first = _word(_place(number, REQUESTS));
            uint256 second = _word(_place(number, REQUESTS) + 1);
            (request.content, request.deadline) = (bytes24(uint192(first)), uint64(first >> 192));
            (request.by, request.height) = (address(uint160(second)), uint32(second >> 160));
            (request.blocks, request.place) = (uint24(second >> 192), uint8(second >> 216));
            uint8 state = uint8(second >> 224);
            VM.assume(state <= uint8(RequestState.Dismissed));
            request.state = RequestState(state);
        }
    }

    /// @dev Last block of the hold of place `index`, of all that are taken.
    function _until(uint256 taken, uint8 index) private pure returns (uint64) {
        return uint64(taken >> (64 * uint256(index)));
    }

    /// @dev The same places with another end for place `index`.
    function _with(uint256 taken, uint8 index, uint64 until) private pure returns (uint256) {
        uint256 shift = 64 * uint256(index);
        return (taken & ~(uint256(type(uint64).max) << shift)) | (uint256(until) << shift);
    }

    function _word(uint256 place) private view returns (uint256) {
        return uint256(VM.load(address(REGISTRY), bytes32(place)));
    }

    function _place(address key, uint256 mapping_) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(key, mapping_)));
    }

    function _place(uint32 key, uint256 mapping_) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(key, mapping_)));
    }
}
