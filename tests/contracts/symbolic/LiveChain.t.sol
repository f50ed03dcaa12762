// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {
    Header,
    HeaderUpdate,
    ILiveChain,
    ModelTransaction,
    NewBlock,
    Opening,
    Publication,
    Update
} from "../../../contracts/interfaces/ILiveChain.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {Curve} from "../forge/support/Curve.sol";
import {VM} from "../forge/support/Vm.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy, SVM} from "./support/Deploy.sol";

/// @notice The live chain changes by certificate and trapdoor only: by a quorum's yes to this very call, and openings
/// under the group key that the quorum names.
contract LiveChainChecks is CommitteeChecks {
    /// @dev What an opening opens.
    struct Content {
        uint64 place;
        uint256 version;
        bytes32 payload;
        uint256 ch;
    }

    ILiveChain private constant LIVE = ILiveChain(address(0xA11));
    /// @dev The first model of the first block.
    uint64 private constant PLACE = 1 << 32;
    string private constant DST = "BlockFUL/CH/secp256k1-NR/v1/";
    /// @dev Slots: the newest block's hash, entries, URIs.
    bytes32 private constant HEAD = bytes32(uint256(2));
    uint256 private constant ENTRIES = 3;
    uint256 private constant URIS = 4;
    /// @dev Of versions.
    uint256 private constant LIMIT = 1 << 20;

    function setUp() external {
        Deploy.inAnyState(address(LIVE), "LiveChain", abi.encode(quorum));
    }

    /// @custom:halmos --default-array-lengths 0,1
    function check_append_needs_a_quorum(address caller, NewBlock memory made, Action memory action) external {
        VM.assume(!holds(address(LIVE), action));
        assert(!passes(caller, address(LIVE), abi.encodeCall(LIVE.append, (made, action))));
    }

    /// @custom:halmos --default-array-lengths 0,1,2
    function check_redact_needs_a_quorum(
        address caller,
        Update[] memory updates,
        HeaderUpdate[] memory headers,
        Action memory action
    ) external {
        VM.assume(!holds(address(LIVE), action));
        assert(!passes(caller, address(LIVE), abi.encodeCall(LIVE.redact, (updates, headers, action))));
    }

    /// @custom:halmos --array-lengths action.path=0
    function check_append(
        address caller,
        uint64 clock,
        uint32 height,
        NewBlock memory made,
        Action memory action,
        uint64 other
    ) external {
        VM.warp(clock);
        VM.assume(LIVE.height() == height && height < type(uint32).max && clock < type(uint64).max - 900);
        uint64 place = (uint64(height) + 1) << 32;
        VM.assume(other >> 32 != place >> 32);
        bytes32 head = VM.load(address(LIVE), HEAD);
        (bytes32 entry, bytes32 uri) = (_slot(other, ENTRIES), _slot(other, URIS));
        if (!passes(caller, address(LIVE), abi.encodeCall(LIVE.append, (made, action)))) return;
        assert(covers(address(LIVE), LIVE.append.selector, keccak256(abi.encode(made)), action));
        assert(made.parentHash == head && made.timestamp <= clock + 900);
        assert(LIVE.height() == place >> 32);
        assert(_slot(other, ENTRIES) == entry && _slot(other, URIS) == uri);
        Publication memory model = made.publications[0];
        bytes32 references = keccak256(abi.encode(model.references[0]));
        bytes32 payload = keccak256(abi.encode(model.uri, model.codec, model.owner, references));
        assert(_opens(Content(place, 0, payload, model.ch), model.opening));
        assert(_isFirst(Content(place, 0, payload, model.ch), model.opening));
    }

    /// @custom:halmos --array-lengths action.path=0
    function check_redact(
        address caller,
        Header memory header,
        ModelTransaction memory model,
        Update[] memory updates,
        HeaderUpdate[] memory headers,
        Action memory action,
        uint64 other
    ) external {
        uint256 entries = _store(header, model);
        Update memory update = updates[0];
        (update.position, headers[0].height) = (PLACE, 1);
        VM.assume(other != PLACE);
        bytes32 uri = _slot(other, URIS);
        if (!passes(caller, address(LIVE), abi.encodeCall(LIVE.redact, (updates, headers, action)))) return;
        assert(covers(address(LIVE), LIVE.redact.selector, keccak256(abi.encode(updates, headers)), action));
        unchecked {
            assert(headers[0].version == entries % LIMIT + 1 && update.version == (entries >> 64) % LIMIT + 1);
        }
        assert(_slot(PLACE, URIS) == update.uri && _slot(other, URIS) == uri);
        bytes32 references = keccak256(abi.encode(model.references[0]));
        bytes32 payload = keccak256(abi.encode(update.uri, update.codec, model.owner, references));
        assert(_opens(Content(PLACE, update.version, payload, model.ch), update.opening));
        payload = keccak256(abi.encode(header.parentHash, header.merkleRoot, header.timestamp, 1));
        Content memory content = Content(PLACE | type(uint32).max, headers[0].version, payload, header.ch);
        assert(_opens(content, headers[0].opening));
    }

    /// @dev Makes the first block one of this header and this model, which has one reference.
    /// @return entries The slot of both entries.
    function _store(Header memory header, ModelTransaction memory model) private returns (uint256 entries) {
        address code = address(uint160(uint256(keccak256(abi.encodePacked(hex"d694", address(LIVE), uint8(1))))));
        bytes memory first =
            abi.encodePacked(hex"00", header.parentHash, header.ch, header.merkleRoot, header.timestamp, uint16(0));
        bytes memory second = abi.encodePacked(model.ch, model.owner, uint16(1));
        VM.etch(code, bytes.concat(first, second, abi.encodePacked(uint64(model.references[0]))));
        bytes32 key = keccak256(abi.encode(uint256(PLACE), ENTRIES));
        // One model: the third field of the header's entry.
        entries = (uint256(VM.load(address(LIVE), key)) & ~(uint256(0xff) << 40)) | (1 << 40);
        VM.store(address(LIVE), key, bytes32(entries));
    }

    function _slot(uint64 place, uint256 mapping_) private view returns (bytes32) {
        return VM.load(address(LIVE), keccak256(abi.encode(uint256(place), mapping_)));
    }

    /// @dev sG = cP + Y, by ecrecover: the derivation is ChameleonHash.sol's.
    function _opens(Content memory content, Opening memory opening) private view returns (bool) {
        (uint256 n, bytes32 keyId) = (Curve.N, quorum.keyId());
        (bytes32 label, bytes32 message) = _digests(content);
        uint256 r = _r(content, opening);
        uint256 c = uint256(keccak256(abi.encode(_tag("challenge"), keyId, label, message, r)));
        unchecked {
            bytes32 e = bytes32(n - mulmod(opening.s, opening.px, n));
            address signer = ecrecover(e, 27, bytes32(opening.px), bytes32(n - mulmod(c, opening.px, n)));
            return signer == address(uint160(uint256(keyId)));
        }
    }

    /// @dev r = seed mod n, and s is the seed's but for its last six bits.
    function _isFirst(Content memory content, Opening memory opening) private view returns (bool) {
        (bytes32 label, bytes32 message) = _digests(content);
        bytes32 seed = keccak256(abi.encode(_tag("first"), quorum.keyId(), label, message));
        uint256 s = uint256(keccak256(abi.encode(_tag("first"), seed)));
        return _r(content, opening) == uint256(seed) % Curve.N && (s ^ opening.s) >> 6 == 0;
    }

    /// @dev r = h + phi(P) mod n
    function _r(Content memory content, Opening memory opening) private pure returns (uint256) {
        return addmod(content.ch, uint256(keccak256(abi.encode(_tag("phi"), opening.px))), Curve.N);
    }

    /// @dev Label and message.
    function _digests(Content memory content) private view returns (bytes32 label, bytes32 message) {
        label = keccak256(abi.encode(_tag("label"), block.chainid, LIVE, content.place));
        message = keccak256(abi.encode(_tag("message"), content.version, content.payload));
    }

    function _tag(string memory name) private pure returns (bytes32) {
        return keccak256(bytes(string.concat(DST, name)));
    }
}
