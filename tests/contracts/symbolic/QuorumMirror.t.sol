// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Action, Roster, VotingKey} from "../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../contracts/interfaces/IQuorumMirror.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyRoster} from "./support/AnyRoster.sol";
import {CertifiedChecks} from "./support/Checks.sol";
import {Deploy} from "./support/Deploy.sol";

/// @notice A mirror moves to the next epoch only, by the certificate of the one that it stands at.
contract QuorumMirrorChecks is CertifiedChecks {
    IQuorumMirror private constant MIRROR = IQuorumMirror(address(0xA11));
    /// @dev The generator of secp256k1.
    uint256 private constant GX = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798;
    uint256 private constant GY = 0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8;

    /// @dev Four members, as bits.
    uint256 private constant ALL = 15;

    function setUp() external {
        Roster memory first = Roster(new VotingKey[](1), 1, false, GX, GY);
        first.members[0] = VotingKey(GX, GY);
        Deploy.inAnyState(address(MIRROR), "QuorumMirror", abi.encode(block.chainid, address(0xA22), uint64(1), first));
    }

    /// @custom:halmos --array-lengths action.path=0
    function check_advance(address caller, uint64 epoch, Roster memory next, Action memory action, uint64 past)
        external
    {
        AnyRoster.seat(MIRROR, 4);
        uint256 voters = action.certificate.voters;
        VM.assume(voters >= ALL || AnyRoster.count(voters) < AnyRoster.needed(MIRROR));
        uint64 current = MIRROR.currentEpoch();
        uint32 before = done(address(MIRROR), action.certificate.proposal);
        VM.assume(past != current + 1);
        bytes32 place = keccak256(abi.encode(past, 1));
        bytes32 roster = VM.load(address(MIRROR), place);
        bytes memory call = abi.encodeCall(MIRROR.advance, (epoch, next, action));
        bool held = passes(address(MIRROR), address(MIRROR), abi.encodeCall(MIRROR.requireQuorum, (action.certificate)));
        if (!passes(caller, address(MIRROR), call)) return;
        assert(held && action.certificate.epoch == current);
        assert(covers(address(MIRROR), MIRROR.advance.selector, keccak256(abi.encode(epoch, next)), action));
        assert(before == action.chunk && done(address(MIRROR), action.certificate.proposal) == before + 1);
        assert(epoch == current + 1 && MIRROR.currentEpoch() == epoch);
        assert(VM.load(address(MIRROR), place) == roster);
    }
}
