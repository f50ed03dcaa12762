// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Roster, VotingKey} from "../interfaces/IQuorum.sol";
import {Secp256k1} from "./Secp256k1.sol";

/// @notice A contract whose code is a roster, or zero.
type RosterCode is address;

using RosterCodes for RosterCode global;

/// @title Rosters stored as code: 64 bytes a member at 200 gas each, read in one piece
/// @dev The code is STOP, so that nobody can run it, then words of 32 bytes: keyId, X.x, X.y (X the sum of all voting
/// keys), Y.x, Y.y, 2 threshold + unanimous, and x and y of each member.
library RosterCodes {
    uint256 private constant _HEAD = 1 + 6 * 32;

    /// @notice The gas did not suffice to store the code.
    error RosterNotStored();

    /// @notice Stores a roster. Pre: 1 to 256 members, all keys on the curve.
    function store(Roster memory roster) internal returns (RosterCode pointer) {
        VotingKey[] memory members = roster.members;
        uint256[] memory keys = new uint256[](2 * members.length);
        (uint256 x, uint256 y, uint256 z) = (1, 1, 0);
        for (uint256 i = 0; i < members.length; ++i) {
            (uint256 keyX, uint256 keyY) = (members[i].x, members[i].y);
            (keys[2 * i], keys[2 * i + 1]) = (keyX, keyY);
            (x, y, z) = Secp256k1.add(x, y, z, keyX, keyY);
        }
        (x, y) = Secp256k1.affine(x, y, z);
        bytes memory creation = abi.encodePacked(
            hex"600b5981380380925939f3", // returns what follows
            hex"00",
            Secp256k1.keyId(roster.keyX, roster.keyY),
            x,
            y,
            roster.keyX,
            roster.keyY,
            2 * uint256(roster.threshold) + (roster.unanimous ? 1 : 0),
            keys
        );
        address stored;
        assembly ("memory-safe") {
            stored := create(0, add(creation, 0x20), mload(creation))
        }
        if (stored == address(0)) revert RosterNotStored();
        pointer = RosterCode.wrap(stored);
    }

    /// @notice Reads a roster; zero gives a roster without members.
    function load(RosterCode pointer) internal view returns (Roster memory roster) {
        uint256 count = size(pointer);
        roster.members = new VotingKey[](count);
        if (count == 0) return roster;
        uint256[] memory words = _words(pointer, 0, 6 + 2 * count);
        (roster.keyX, roster.keyY) = (words[3], words[4]);
        (roster.threshold, roster.unanimous) = (uint32(words[5] >> 1), words[5] & 1 == 1);
        for (uint256 i = 0; i < count; ++i) {
            roster.members[i] = VotingKey(words[6 + 2 * i], words[7 + 2 * i]);
        }
    }

    /// @notice Number of members; 0 without a roster.
    function size(RosterCode pointer) internal view returns (uint256) {
        uint256 length = RosterCode.unwrap(pointer).code.length;
        unchecked {
            return length == 0 ? 0 : (length - _HEAD) / 64;
        }
    }

    /// @notice Identifier of the group key; 0 without a roster.
    function keyId(RosterCode pointer) internal view returns (bytes32) {
        return bytes32(_words(pointer, 0, 1)[0]);
    }

    /// @notice Address of a member; 0 beyond the roster.
    function member(RosterCode pointer, uint256 index) internal view returns (address) {
        if (index >= size(pointer)) return address(0);
        uint256[] memory key = _words(pointer, 6 + 2 * index, 2);
        return Secp256k1.account(key[0], key[1]);
    }

    /// @notice Identifier of the group key, and the sum of all members' keys except the `absent` ones, affine.
    /// @dev Pre: `absent` has no bit beyond the roster.
    function signers(RosterCode pointer, uint256 absent) internal view returns (bytes32 id, uint256 x, uint256 y) {
        unchecked {
            uint256[] memory words = _words(pointer, 0, absent == 0 ? 3 : 6 + 2 * size(pointer));
            (id, x, y) = (bytes32(words[0]), words[1], words[2]);
            if (absent == 0) return (id, x, y);
            uint256 z = 1;
            for (uint256 i = 6; absent != 0; i += 2) {
                if (absent & 1 == 1) (x, y, z) = Secp256k1.add(x, y, z, words[i], Secp256k1.FIELD - words[i + 1]);
                absent >>= 1;
            }
            (x, y) = Secp256k1.affine(x, y, z);
        }
    }

    /// @dev `count` words from the word at `start`; zeros without code.
    function _words(RosterCode pointer, uint256 start, uint256 count) private view returns (uint256[] memory words) {
        words = new uint256[](count);
        assembly ("memory-safe") {
            extcodecopy(pointer, add(words, 0x20), add(1, mul(start, 0x20)), mul(count, 0x20))
        }
    }
}
