// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IParticipantRegistry, Participant} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../forge/support/Vm.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy} from "./support/Deploy.sol";

/// @notice Participants act for themselves; a quorum changes the file, admits, bars and readmits; nothing else changes.
contract ParticipantRegistryChecks is CommitteeChecks {
    /// @dev Any place of each mapping.
    struct Places {
        address account;
        uint32 number;
        uint32 request;
        bytes32 proposal;
    }

    IParticipantRegistry private constant REGISTRY = IParticipantRegistry(address(0xA11));
    IParticipantRegistry private constant OPEN = IParticipantRegistry(address(0xA22));
    uint32 private constant SEATS = 5;

    /// @dev Words of `_words`, as bits.
    uint256 private constant FILE = 1;
    uint256 private constant COUNTERS = 2;
    uint256 private constant ACCOUNT_OF = 8;
    uint256 private constant FILED = 16;

    function setUp() external {
        Deploy.inAnyState(address(REGISTRY), "ParticipantRegistry", abi.encode(quorum, SEATS, false));
        Deploy.inAnyState(address(OPEN), "ParticipantRegistry", abi.encode(quorum, SEATS, true));
    }

    /// @dev This contract is the deployer.
    function check_found(address caller, bytes32 digest, Places memory at) external {
        (bytes32[8] memory before, bytes32 file) = (_words(REGISTRY, at), REGISTRY.fileDigest());
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.found, (digest)))) return;
        assert(caller == address(this) && file == 0);
        assert(digest != 0 && REGISTRY.fileDigest() == digest);
        assert(_onlyIn(REGISTRY, at, before, FILE));
    }

    function check_changeFile(address caller, bytes32 digest, Action memory action, Places memory at) external {
        VM.assume(at.proposal != action.certificate.proposal);
        (bytes32[8] memory before, bytes32 file) = (_words(REGISTRY, at), REGISTRY.fileDigest());
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
        (bytes32[8] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.leave, ()))) return;
        assert(own.since != 0);
        own.since = 0;
        assert(_is(REGISTRY, caller, own) && _onlyIn(REGISTRY, at, before, 0));
    }

    function check_admit(address caller, address account, Action memory action, Places memory at) external {
        VM.assume(at.account != account && at.proposal != action.certificate.proposal);
        (bytes32[8] memory before, Participant memory named) = (_words(REGISTRY, at), REGISTRY.participant(account));
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
        (bytes32[8] memory before, Participant memory named) = (_words(REGISTRY, at), REGISTRY.participant(account));
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
        VM.assume(uint256(VM.load(address(REGISTRY), bytes32(_endpoint(caller) + 1))) & 1 == 0);
        (bytes32[8] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.announce, (key, url)))) return;
        (address newKey, string memory newUrl) = REGISTRY.endpoint(caller);
        assert(same(bytes(newUrl), bytes(url)) && newKey == (bytes(url).length == 0 ? address(0) : key));
        assert(newKey != address(0) || bytes(url).length == 0);
        assert(_is(REGISTRY, caller, own) && _onlyIn(REGISTRY, at, before, 0));
    }

    function check_file(address caller, uint64 height, bytes32 digest, uint8 codec, uint64 blocks, Places memory at)
        external
    {
        VM.roll(height);
        (bytes32[8] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        uint32 number = REGISTRY.requests();
        bytes memory call = abi.encodeCall(REGISTRY.file, (digest, codec, blocks));
        if (!passes(caller, address(REGISTRY), call)) return;
        assert(own.since != 0 && !own.barred && blocks > 0 && blocks <= REGISTRY.MAX_BLOCKS());
        assert(REGISTRY.requests() == number + 1);
        (bytes24 content, uint64 deadline) = REGISTRY.filed(number + 1);
        assert(deadline == height + blocks);
        assert(content == bytes24(keccak256(abi.encode(caller, digest, codec, deadline))));
        assert(_onlyIn(REGISTRY, at, before, COUNTERS | (at.request == number + 1 ? FILED : 0)));
    }

    function check_handIn(
        address caller,
        uint64 height,
        uint32 request,
        uint64 position,
        bytes32 digest,
        uint8 codec,
        Places memory at
    ) external {
        VM.roll(height);
        (bytes32[8] memory before, Participant memory own) = (_words(REGISTRY, at), REGISTRY.participant(caller));
        (, uint64 deadline) = REGISTRY.filed(request);
        bytes memory call = abi.encodeCall(REGISTRY.handIn, (request, position, digest, codec));
        if (!passes(caller, address(REGISTRY), call)) return;
        assert(own.since != 0 && !own.barred && deadline != 0 && height <= deadline);
        assert(_onlyIn(REGISTRY, at, before, 0));
    }

    function _joins(IParticipantRegistry registry, address caller, uint64 height, Places memory at) private {
        VM.roll(height);
        VM.assume(at.account != caller);
        (bytes32[8] memory before, Participant memory own) = (_words(registry, at), registry.participant(caller));
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

    function _is(IParticipantRegistry registry, address account, Participant memory expected)
        private
        view
        returns (bool)
    {
        return same(abi.encode(registry.participant(account)), abi.encode(expected));
    }

    /// @dev All that is stored, at these places of the mappings; of a URL its length, or itself where it is short.
    function _words(IParticipantRegistry registry, Places memory at) private view returns (bytes32[8] memory words) {
        words[0] = VM.load(address(registry), bytes32(uint256(1)));
        words[1] = VM.load(address(registry), bytes32(uint256(2)));
        words[2] = VM.load(address(registry), keccak256(abi.encode(at.proposal, 0)));
        words[3] = VM.load(address(registry), keccak256(abi.encode(at.number, 3)));
        words[4] = VM.load(address(registry), keccak256(abi.encode(at.request, 4)));
        words[5] = VM.load(address(registry), bytes32(_endpoint(at.account)));
        words[6] = VM.load(address(registry), bytes32(_endpoint(at.account) + 1));
        words[7] = VM.load(address(registry), keccak256(abi.encode(at.account, 6)));
    }

    /// @dev Whether none of these words has changed but those whose bits are in `mask`.
    function _onlyIn(IParticipantRegistry registry, Places memory at, bytes32[8] memory before, uint256 mask)
        private
        view
        returns (bool)
    {
        bytes32[8] memory words = _words(registry, at);
        bytes32 difference;
        for (uint256 i = 0; i < 8; ++i) {
            if ((mask >> i) & 1 == 0) difference |= words[i] ^ before[i];
        }
        return difference == 0;
    }

    function _endpoint(address account) private pure returns (uint256) {
        unchecked {
            return uint256(keccak256(abi.encode(account, 5)));
        }
    }
}
