// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {
    HeaderUpdate,
    ILiveChain,
    NewBlock,
    Opening,
    Publication,
    Update
} from "../../../../contracts/interfaces/ILiveChain.sol";
import {Action} from "../../../../contracts/interfaces/IQuorum.sol";
import {Chameleon} from "./Chameleon.sol";
import {Curve} from "./Curve.sol";
import {Decider} from "./Decider.sol";
import {MerkleTree} from "./MerkleTree.sol";

/// @notice What is known of a published model.
struct Model {
    uint256 ch;
    bytes32 uri;
    uint32 version;
    address owner;
    bytes32 referencesHash;
    uint64[] references;
    Opening opening;
}

/// @notice What is known of an appended block.
struct Block {
    bytes32 parentHash;
    uint256 ch;
    bytes32 root;
    uint64 timestamp;
    uint32 count;
    uint32 version;
    bytes32 hash;
    Opening opening;
}

/// @notice Makes blocks and redactions of a live chain, and remembers those that went through.
abstract contract LiveScene is Decider {
    uint8 internal constant RAW = 0x55;
    uint64 internal constant TIME = 1_700_000_000;
    uint32 internal constant HEADER = type(uint32).max;

    ILiveChain internal live;
    /// @dev What labels are bound to: the live chain, unless a test says otherwise.
    uint256 internal labelChain = block.chainid;
    address internal labelTarget;
    mapping(uint64 position => Model) internal models;
    uint64[] internal positions;
    /// @dev By height; the first is the genesis block.
    Block[] internal blocks;
    /// @dev Events of the live chain so far.
    uint256 internal logged;

    function follow(ILiveChain live_) internal {
        live = live_;
        labelTarget = address(live_);
        blocks.push();
        blocks[0].hash = keccak256(abi.encode(block.chainid, live_));
    }

    function at(uint32 height, uint32 index) internal pure returns (uint64) {
        return (uint64(height) << 32) | index;
    }

    /// @notice A block on the head with one model for each list of references.
    function newBlock(uint64[][] memory references, uint64 timestamp) internal returns (NewBlock memory made) {
        uint32 height = uint32(blocks.length);
        made.parentHash = blocks[height - 1].hash;
        made.timestamp = timestamp;
        made.publications = new Publication[](references.length);
        for (uint32 i = 0; i < references.length; ++i) {
            made.publications[i] = _publication(at(height, i), references[i]);
        }
        (made.ch, made.opening) = _first(at(height, HEADER), _headerPayload(made));
    }

    /// @notice A block of `count` models without references.
    function newBlock(uint256 count) internal returns (NewBlock memory) {
        return newBlock(new uint64[][](count), TIME);
    }

    function certifyBlock(NewBlock memory made) internal returns (Action memory) {
        return certify(address(live), ILiveChain.append.selector, keccak256(abi.encode(made)));
    }

    function append(NewBlock memory made) internal {
        live.append(made, certifyBlock(made));
        remember(made);
    }

    function publish(uint64[][] memory references) internal {
        append(newBlock(references, TIME));
    }

    function publish(uint256 count) internal {
        append(newBlock(count));
    }

    /// @notice The block went through.
    function remember(NewBlock memory made) internal {
        logged += made.publications.length + 1;
        uint32 height = uint32(blocks.length);
        for (uint32 i = 0; i < made.publications.length; ++i) {
            Publication memory each = made.publications[i];
            positions.push(at(height, i));
            models[at(height, i)] =
                Model(each.ch, each.uri, 0, each.owner, hashOf(each.references), each.references, each.opening);
        }
        bytes32 root = rootOf(height, made.publications);
        blocks.push(
            Block({
                parentHash: made.parentHash,
                ch: made.ch,
                root: root,
                timestamp: made.timestamp,
                count: uint32(made.publications.length),
                version: 0,
                hash: keccak256(abi.encode(made.parentHash, made.ch, root, made.timestamp)),
                opening: made.opening
            })
        );
    }

    /// @notice The next version of one model, with a URI of its own.
    function update(uint64 position) internal returns (Update memory) {
        Model storage model = models[position];
        bytes32 uri = bytes32(fresh());
        bytes32 message = Chameleon.message(model.version + 1, payloadOf(uri, RAW, model.owner, model.referencesHash));
        Opening memory opening = openingOf(position, message, model.ch);
        return Update(position, model.version + 1, uri, RAW, opening);
    }

    /// @notice The next version of one header.
    function headerUpdate(uint32 height) internal returns (HeaderUpdate memory) {
        Block storage known = blocks[height];
        bytes32 payload = keccak256(abi.encode(known.parentHash, known.root, known.timestamp, known.count));
        bytes32 message = Chameleon.message(known.version + 1, payload);
        return HeaderUpdate(height, known.version + 1, openingOf(at(height, HEADER), message, known.ch));
    }

    /// @notice Updates of ascending `places`, and of the headers of their blocks.
    function redaction(uint64[] memory places)
        internal
        returns (Update[] memory updates, HeaderUpdate[] memory headers)
    {
        updates = new Update[](places.length);
        uint256 count = 0;
        for (uint256 i = 0; i < places.length; ++i) {
            updates[i] = update(places[i]);
            if (i == 0 || places[i] >> 32 != places[i - 1] >> 32) ++count;
        }
        headers = new HeaderUpdate[](count);
        uint256 next = 0;
        for (uint256 i = 0; i < places.length; ++i) {
            if (i == 0 || places[i] >> 32 != places[i - 1] >> 32) {
                headers[next++] = headerUpdate(uint32(places[i] >> 32));
            }
        }
    }

    function redactionDigest(Update[] memory updates, HeaderUpdate[] memory headers) internal pure returns (bytes32) {
        return keccak256(abi.encode(updates, headers));
    }

    function certifyRedaction(Update[] memory updates, HeaderUpdate[] memory headers) internal returns (Action memory) {
        return certify(address(live), ILiveChain.redact.selector, redactionDigest(updates, headers));
    }

    function redact(uint64[] memory places) internal {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(places);
        live.redact(updates, headers, certifyRedaction(updates, headers));
        settle(updates, headers);
    }

    function redact(uint64 place) internal {
        redact(list(place));
    }

    /// @notice The redaction went through.
    function settle(Update[] memory updates, HeaderUpdate[] memory headers) internal {
        logged += updates.length + headers.length;
        for (uint256 i = 0; i < updates.length; ++i) {
            models[updates[i].position].version = updates[i].version;
            models[updates[i].position].uri = updates[i].uri;
            models[updates[i].position].opening = updates[i].opening;
        }
        for (uint256 i = 0; i < headers.length; ++i) {
            blocks[headers[i].height].version = headers[i].version;
            blocks[headers[i].height].opening = headers[i].opening;
        }
    }

    /// @notice H(uri || codec || owner || referencesHash)
    function payloadOf(bytes32 uri, uint8 codec, address owner, bytes32 referencesHash)
        internal
        pure
        returns (bytes32)
    {
        return keccak256(abi.encode(uri, codec, owner, referencesHash));
    }

    /// @notice H(reference_0 || reference_1 || ...), words of 32 bytes.
    function hashOf(uint64[] memory references) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(references));
    }

    /// @notice The tree over H(H(position || ch)) in block order.
    function rootOf(uint32 height, Publication[] memory publications) internal pure returns (bytes32) {
        if (publications.length == 0) return 0;
        bytes32[] memory leaves = new bytes32[](publications.length);
        for (uint32 i = 0; i < leaves.length; ++i) {
            leaves[i] = keccak256(bytes.concat(keccak256(abi.encode(at(height, i), publications[i].ch))));
        }
        return MerkleTree.build(leaves)[0];
    }

    function list(uint64 a) internal pure returns (uint64[] memory places) {
        places = new uint64[](1);
        places[0] = a;
    }

    function list(uint64 a, uint64 b) internal pure returns (uint64[] memory places) {
        places = new uint64[](2);
        (places[0], places[1]) = (a, b);
    }

    function list(uint64 a, uint64 b, uint64 c) internal pure returns (uint64[] memory places) {
        places = new uint64[](3);
        (places[0], places[1], places[2]) = (a, b, c);
    }

    function lists(uint64[] memory a) internal pure returns (uint64[][] memory all) {
        all = new uint64[][](1);
        all[0] = a;
    }

    function lists(uint64[] memory a, uint64[] memory b) internal pure returns (uint64[][] memory all) {
        all = new uint64[][](2);
        (all[0], all[1]) = (a, b);
    }

    function _publication(uint64 position, uint64[] memory references) private returns (Publication memory made) {
        made.uri = bytes32(fresh());
        made.codec = RAW;
        made.owner = address(uint160(fresh()));
        made.references = references;
        bytes32 payload = payloadOf(made.uri, RAW, made.owner, hashOf(references));
        (made.ch, made.opening) = _first(position, payload);
    }

    function _headerPayload(NewBlock memory made) private view returns (bytes32) {
        bytes32 root = rootOf(uint32(blocks.length), made.publications);
        return keccak256(abi.encode(made.parentHash, root, made.timestamp, uint32(made.publications.length)));
    }

    function _first(uint64 position, bytes32 payload) private returns (uint256, Opening memory) {
        bytes32 label = Chameleon.label(labelChain, labelTarget, position);
        return Chameleon.first(members.trapdoor, members.keyId(), label, Chameleon.message(0, payload), 0);
    }

    function openingOf(uint64 position, bytes32 message, uint256 ch) internal returns (Opening memory) {
        bytes32 label = Chameleon.label(labelChain, labelTarget, position);
        return Chameleon.open(members.trapdoor, members.keyId(), label, message, ch, fresh() % Curve.N);
    }
}
