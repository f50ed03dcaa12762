// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAlarmRegistry} from "../../../contracts/interfaces/IAlarmRegistry.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyQuorum} from "./support/AnyQuorum.sol";
import {Checks} from "./support/Checks.sol";
import {Deploy, SVM} from "./support/Deploy.sol";

/// @notice An alarm is its member's: signed, in its epoch, once a proposal, and at most 32 times.
contract AlarmRegistryChecks is Checks {
    IAlarmRegistry private constant REGISTRY = IAlarmRegistry(address(0xA11));
    AnyQuorum private _quorum = new AnyQuorum();

    struct Place {
        uint64 epoch;
        bytes32 proposal;
        uint256 index;
    }

    function setUp() external {
        Deploy.inAnyState(address(REGISTRY), "AlarmRegistry", abi.encode(_quorum));
        SVM.enableSymbolicStorage(address(_quorum));
    }

    function check_alarm(
        address caller,
        Place memory at,
        string memory reason,
        bytes memory signature,
        Place memory other
    ) external {
        (uint256 members, uint256 count) = _state(at);
        VM.assume(count <= 32);
        (uint256 otherMembers, uint256 otherCount) = _state(other);
        bytes memory call = abi.encodeCall(REGISTRY.alarm, (at.epoch, at.proposal, reason, at.index, signature));
        if (!passes(caller, address(REGISTRY), call)) return;
        address member = _quorum.memberAt(at.epoch, at.index);
        assert(at.epoch == _quorum.currentEpoch() && member != address(0));
        assert(_signer(at, reason, signature) == member);
        assert((members >> at.index) & 1 == 0);
        (uint256 newMembers, uint256 newCount) = _state(at);
        assert(newMembers == members | (1 << at.index) && newCount == count + 1 && newCount <= 32);
        (newMembers, newCount) = _state(other);
        bool sameEpoch = other.epoch == at.epoch;
        assert((sameEpoch && other.proposal == at.proposal) || newMembers == otherMembers);
        assert((sameEpoch && other.index == at.index) || newCount == otherCount);
    }

    function _state(Place memory at) private view returns (uint256 members, uint256 count) {
        return (REGISTRY.alarms(at.epoch, at.proposal), REGISTRY.raised(at.epoch, at.index));
    }

    /// @dev EIP-712 under the quorum's domain, EIP-2098.
    function _signer(Place memory at, string memory reason, bytes memory signature) private view returns (address) {
        bytes32 tag = keccak256("Alarm(uint64 epoch,bytes32 proposal,string reason)");
        bytes32 content = keccak256(abi.encode(tag, at.epoch, at.proposal, keccak256(bytes(reason))));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", _quorum.domainSeparator(), content));
        (bytes32 r, bytes32 vs) = abi.decode(signature, (bytes32, bytes32));
        return ecrecover(digest, uint8(uint256(vs) >> 255) + 27, r, vs & bytes32(type(uint256).max >> 1));
    }
}
