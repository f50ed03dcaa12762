// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Certificate, Roster, VotingKey} from "../../../../contracts/interfaces/IQuorum.sol";
import {Curve, Point} from "./Curve.sol";
import {VM} from "./Vm.sol";

// The contract that certificates are for in tests that call none.
address constant EXECUTOR = address(0xE8EC);

/// @notice The members of one epoch by their voting secrets, and the whole trapdoor of their key.
struct Members {
    uint256[] secrets;
    uint256 trapdoor;
    uint256 keyX;
    uint256 keyY;
}

using Membership for Members global;

/// @notice What members sign.
library Membership {
    bytes32 private constant _DECISION = keccak256("Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)");
    bytes32 private constant _CERTIFIED = keccak256(
        "Certified(uint256 chainId,address executor,uint64 epoch,bytes32 proposal,bytes32 contentHash,uint256 voters)"
    );
    bytes32 private constant _ALARM = keccak256("Alarm(uint64 epoch,bytes32 proposal,string reason)");

    /// @notice As many members as `size`, by a seed.
    function draw(uint256 size, string memory seed) internal returns (Members memory) {
        uint256[] memory secrets = new uint256[](size);
        for (uint256 i = 0; i < size; ++i) {
            secrets[i] = uint256(keccak256(abi.encode(seed, i))) % Curve.N;
        }
        return withTrapdoor(secrets, uint256(keccak256(abi.encode(seed))) % Curve.N);
    }

    function withTrapdoor(uint256[] memory secrets, uint256 trapdoor) internal returns (Members memory) {
        Point memory key = Curve.base(trapdoor);
        return Members(secrets, trapdoor, key.x, key.y);
    }

    function keyId(Members memory self) internal pure returns (bytes32) {
        return keccak256(abi.encode(self.keyX, self.keyY));
    }

    function addressOf(Members memory self, uint256 index) internal pure returns (address) {
        return VM.addr(self.secrets[index]);
    }

    function addresses(Members memory self) internal pure returns (address[] memory list) {
        list = new address[](self.secrets.length);
        for (uint256 i = 0; i < list.length; ++i) {
            list[i] = VM.addr(self.secrets[i]);
        }
    }

    /// @notice ceil(2n / 3)
    function quorum(Members memory self) internal pure returns (uint256) {
        return (2 * self.secrets.length + 2) / 3;
    }

    /// @notice The first members that make a quorum, as bits.
    function enough(Members memory self) internal pure returns (uint256) {
        return (1 << quorum(self)) - 1;
    }

    /// @notice The voting keys.
    function keys(Members memory self) internal returns (VotingKey[] memory list) {
        list = new VotingKey[](self.secrets.length);
        for (uint256 i = 0; i < list.length; ++i) {
            Point memory key = Curve.base(self.secrets[i]);
            list[i] = VotingKey(key.x, key.y);
        }
    }

    /// @notice Their roster, whose threshold is the quorum.
    function roster(Members memory self) internal returns (Roster memory) {
        return Roster(keys(self), uint32(quorum(self)), false, self.keyX, self.keyY);
    }

    /// @notice A certificate for `executor` on `chain`, signed by the members whose bits are set in `voters`.
    function certificate(
        Members memory self,
        bytes32 domain,
        uint256 chain,
        address executor,
        uint64 epoch,
        bytes32 proposal,
        bytes32 content,
        uint256 voters
    ) internal returns (Certificate memory made) {
        made = Certificate(epoch, proposal, content, voters, address(0), 0);
        uint256 secret = 0;
        for (uint256 index = 0; voters >> index != 0; ++index) {
            if ((voters >> index) & 1 == 0) continue;
            if (index < self.secrets.length) secret = addmod(secret, self.secrets[index], Curve.N);
        }
        bytes32 struct_ = keccak256(abi.encode(_CERTIFIED, chain, executor, epoch, proposal, content, voters));
        if (secret != 0) (made.nonce, made.s) = schnorr(secret, domain, struct_);
    }

    /// @notice The same for EXECUTOR on this chain.
    function certificate(
        Members memory self,
        bytes32 domain,
        uint64 epoch,
        bytes32 proposal,
        bytes32 content,
        uint256 voters
    ) internal returns (Certificate memory) {
        return certificate(self, domain, block.chainid, EXECUTOR, epoch, proposal, content, voters);
    }

    /// @notice A Schnorr signature over typed data (EIP-712).
    function schnorr(uint256 secret, bytes32 domain, bytes32 struct_) internal returns (address nonce, uint256 s) {
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domain, struct_));
        uint256 k = uint256(keccak256(abi.encode("nonce", secret, digest))) % Curve.N;
        nonce = VM.addr(k);
        Point memory key = Curve.base(secret);
        bytes32 tag = keccak256("BlockFUL/certificate/v1/challenge");
        uint256 e = uint256(keccak256(abi.encode(tag, key.x, key.y, nonce, digest)));
        s = addmod(k, mulmod(e, secret, Curve.N), Curve.N);
    }

    /// @notice One member's vote.
    function vote(Members memory self, bytes32 domain, uint64 epoch, bytes32 proposal, bytes32 content, uint256 index)
        internal
        pure
        returns (bytes memory)
    {
        return sign(self.secrets[index], domain, keccak256(abi.encode(_DECISION, epoch, proposal, content)));
    }

    /// @notice One member's signature over its alarm.
    function alarm(
        Members memory self,
        bytes32 domain,
        uint64 epoch,
        bytes32 proposal,
        string memory reason,
        uint256 index
    ) internal pure returns (bytes memory) {
        bytes32 struct_ = keccak256(abi.encode(_ALARM, epoch, proposal, keccak256(bytes(reason))));
        return sign(self.secrets[index], domain, struct_);
    }

    /// @notice The compact signature (EIP-2098) of typed data (EIP-712).
    function sign(uint256 secret, bytes32 domain, bytes32 struct_) internal pure returns (bytes memory) {
        (bytes32 r, bytes32 vs) = VM.signCompact(secret, keccak256(abi.encodePacked(hex"1901", domain, struct_)));
        return abi.encodePacked(r, vs);
    }

    /// @notice The domain of votes: ("BlockFUL", "1", chain, committee).
    function domainOf(uint256 chainId, address committee) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("BlockFUL"),
                keccak256("1"),
                chainId,
                committee
            )
        );
    }
}
