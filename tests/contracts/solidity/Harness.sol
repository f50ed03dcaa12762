// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {BlockCode, BlockFields, ModelFields} from "../../../contracts/lib/BlockCode.sol";
import {ChameleonHash, Transcript} from "../../../contracts/lib/ChameleonHash.sol";
import {CreatedCode} from "../../../contracts/lib/CreatedCode.sol";
import {Entries, Entry} from "../../../contracts/lib/Entry.sol";
import {MerkleRoot} from "../../../contracts/lib/MerkleRoot.sol";
import {Quorum} from "../../../contracts/lib/Quorum.sol";
import {Secp256k1} from "../../../contracts/lib/Secp256k1.sol";
import {Trust} from "../../../contracts/lib/Trust.sol";

struct Case {
    bytes32 keyId;
    bytes32 label;
    bytes32 message;
    uint256 h;
    uint256 px;
    uint256 s;
}

/// @notice Opens the libraries to tests.
contract Harness {
    using BlockCode for BlockCode.Draft;

    function verify(Case calldata item) public view returns (bool) {
        return ChameleonHash.verify(item.keyId, item.label, item.message, item.h, item.px, item.s);
    }

    function verifyAll(Case[] calldata items) external view returns (bool[] memory valid) {
        valid = new bool[](items.length);
        for (uint256 i = 0; i < items.length; ++i) {
            valid[i] = verify(items[i]);
        }
    }

    /// @return spent Gas of the library's function alone.
    function gasOfVerify(Case calldata item) external view returns (uint256 spent) {
        (bytes32 keyId, bytes32 label, bytes32 message) = (item.keyId, item.label, item.message);
        (uint256 h, uint256 px, uint256 s) = (item.h, item.px, item.s);
        spent = gasleft();
        bool valid = ChameleonHash.verify(keyId, label, message, h, px, s);
        spent -= gasleft();
        require(valid, "the opening does not open");
    }

    function opens(bytes32 keyId, uint256 position, uint256 version, bytes32 payload, uint256 h, uint256 px, uint256 s)
        external
        view
        returns (bool)
    {
        return ChameleonHash.opens(ChameleonHash.transcript(keyId), position, version, payload, h, px, s);
    }

    /// @notice Twice with one transcript: a check leaves it as it was.
    function opensFirst(bytes32 keyId, uint256 position, bytes32 payload, uint256 h, uint256 px, uint256 s)
        external
        view
        returns (bool first)
    {
        Transcript prepared = ChameleonHash.transcript(keyId);
        first = prepared.opensFirst(position, payload, h, px, s);
        assert(first == prepared.opensFirst(position, payload, h, px, s));
    }

    function recover(bytes32 e, uint8 v, bytes32 r, bytes32 s) external pure returns (address) {
        return ecrecover(e, v, r, s);
    }

    /// @return size Bytes that the precompile returned.
    function recoveredBytes(bytes32 e, uint256 v, bytes32 r, bytes32 s) external view returns (uint256 size) {
        bytes memory input = abi.encode(e, v, r, s);
        assembly ("memory-safe") {
            pop(staticcall(gas(), 1, add(input, 0x20), 0x80, 0, 0))
            size := returndatasize()
        }
    }

    function merkleRoot(uint256[] calldata positions, uint256[] calldata values) external pure returns (bytes32) {
        bytes32[] memory nodes = new bytes32[](2 * positions.length - 1);
        for (uint256 i = 0; i < positions.length; ++i) {
            nodes[i] = MerkleRoot.leaf(positions[i], values[i]);
        }
        return MerkleRoot.root(nodes);
    }

    function score(uint256 good, uint256 bad) external pure returns (uint256) {
        return Trust.score(good, bad);
    }

    function remember(uint32 good, uint32 bad, uint32 newGood, uint32 newBad) external pure returns (uint32, uint32) {
        return Trust.remember(good, bad, newGood, newBad);
    }

    function isOnCurve(uint256 x, uint256 y) external pure returns (bool) {
        return Secp256k1.isOnCurve(x, y);
    }

    function quorumOf(uint256 members, bool unanimous) external pure returns (uint256) {
        return Quorum.size(members, unanimous);
    }

    function countOf(uint256 voters) external pure returns (uint256) {
        return Quorum.count(voters);
    }

    /// @notice Stores a block's code; models refer to `lists`, one for each.
    function store(BlockFields calldata fields, ModelFields[] calldata models, uint64[][] calldata lists)
        external
        returns (address)
    {
        uint256 references = 0;
        for (uint256 i = 0; i < lists.length; ++i) {
            references += lists[i].length;
        }
        BlockCode.Draft memory draft = BlockCode.draft(models.length, references);
        for (uint256 i = 0; i < models.length; ++i) {
            ModelFields calldata model = models[i];
            draft.write(i, model.ch, uint160(model.owner), lists[i]);
        }
        return draft.create(fields);
    }

    function headerOf(address code) external view returns (BlockFields memory) {
        return BlockCode.header(code);
    }

    function modelOf(address code, uint256 models, uint256 index)
        external
        view
        returns (ModelFields memory fields, uint64[] memory references, bytes32 referencesHash)
    {
        BlockCode.read(code, index, fields);
        references = BlockCode.referencesOf(code, models, fields);
        referencesHash = BlockCode.referencesHash(code, models, fields);
    }

    /// @return changed The slot with another entry. @return fields version, epoch, codec and batch, read back.
    function throughEntry(uint256 slot, uint256 number, uint256 version, uint256 epoch, uint256 codec, uint256 batch)
        external
        pure
        returns (uint256 changed, uint256[4] memory fields)
    {
        changed = Entries.put(slot, number, Entries.ofModel(version, epoch, codec, batch));
        Entry entry = Entries.at(changed, number);
        fields = [entry.version(), entry.epoch(), entry.codec(), entry.batch()];
    }

    function locate(uint256 height) external view returns (address) {
        return CreatedCode.locate(height);
    }
}
