// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAlarmRegistry} from "../../../contracts/interfaces/IAlarmRegistry.sol";
import {IAppointedCommittee} from "../../../contracts/interfaces/IAppointedCommittee.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {FiveCandidates} from "./support/Elections.sol";
import {Members, Membership} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice Alarms of the appointed and of the elected committee's members.
abstract contract AlarmRegistryTest {
    bytes32 private constant PROPOSAL = "proposal";
    string private constant REASON = "model a: AD_f 0.31 above 0.05";

    /// @dev Of a committee of four in epoch 1.
    IAlarmRegistry internal alarms;
    Members internal signers;
    bytes32 internal alarmDomain;

    function test_alarms_are_recorded_with_their_reason() external {
        bytes memory signature = _signed(2, REASON, 1);
        VM.expectEmit(address(alarms));
        emit IAlarmRegistry.AlarmRaised(1, PROPOSAL, signers.addressOf(2), REASON);
        alarms.alarm(1, PROPOSAL, REASON, 2, signature);
        VM.assertEq(alarms.alarms(1, PROPOSAL), 4);
        alarms.alarm(1, PROPOSAL, "another reason", 0, _signed(0, "another reason", 1));
        VM.assertEq(alarms.alarms(1, PROPOSAL), 5);
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.AlarmRepeated.selector, PROPOSAL, 2));
        alarms.alarm(1, PROPOSAL, REASON, 2, signature);
    }

    function test_alarms_that_are_not_recorded() external {
        bytes memory signature = _signed(2, REASON, 1);
        bytes memory later = _signed(2, REASON, 2);
        bytes4 invalid = IAlarmRegistry.InvalidAlarm.selector;
        VM.expectPartialRevert(invalid);
        alarms.alarm(1, PROPOSAL, "yes", 2, signature);
        VM.expectPartialRevert(invalid);
        alarms.alarm(1, PROPOSAL, REASON, 1, signature);
        VM.expectPartialRevert(invalid);
        alarms.alarm(1, "another", REASON, 2, signature);
        VM.expectRevert(abi.encodeWithSelector(invalid, 9, address(0), address(0)));
        alarms.alarm(1, PROPOSAL, REASON, 9, new bytes(64));
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.AlarmOutOfEpoch.selector, 2, 1));
        alarms.alarm(2, PROPOSAL, REASON, 2, later);
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.ReasonLength.selector, 0));
        alarms.alarm(1, PROPOSAL, "", 2, signature);
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.ReasonLength.selector, 257));
        alarms.alarm(1, PROPOSAL, string(new bytes(257)), 2, signature);
    }

    function testFuzz_a_reason_of_up_to_256_bytes_is_recorded(uint8 length) external {
        string memory reason = string(new bytes(uint256(length) + 1));
        alarms.alarm(1, PROPOSAL, reason, 3, _signed(3, reason, 1));
        VM.assertEq(alarms.alarms(1, PROPOSAL), 8);
    }

    function test_an_epoch_that_is_over_has_no_more_alarms() external {
        bytes memory late = _signed(0, REASON, 1);
        endEpoch();
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.AlarmOutOfEpoch.selector, 1, 2));
        alarms.alarm(1, PROPOSAL, REASON, 0, late);
    }

    /// @notice Alarms without bound: each cost the federation a slot for ever.
    function test_a_member_raises_at_most_32_alarms_an_epoch() external {
        for (uint256 i = 0; i < 32; ++i) {
            bytes32 proposal = bytes32(i);
            alarms.alarm(1, proposal, REASON, 1, signers.alarm(alarmDomain, 1, proposal, REASON, 1));
        }
        VM.assertEq(alarms.raised(1, 1), 32);
        bytes memory more = _signed(1, REASON, 1);
        VM.expectRevert(abi.encodeWithSelector(IAlarmRegistry.TooManyAlarms.selector, 1, 32));
        alarms.alarm(1, PROPOSAL, REASON, 1, more);
        alarms.alarm(1, PROPOSAL, REASON, 0, _signed(0, REASON, 1));
        VM.assertEq(alarms.raised(1, 0), 1);
    }

    function endEpoch() internal virtual;

    function watch(IQuorum committee) internal {
        alarms = IAlarmRegistry(VM.deployCode("AlarmRegistry.sol", abi.encode(committee)));
        alarmDomain = committee.domainSeparator();
    }

    function _signed(uint256 index, string memory reason, uint64 epoch) private view returns (bytes memory) {
        return signers.alarm(alarmDomain, epoch, PROPOSAL, reason, index);
    }
}

contract AppointedAlarmRegistryTest is AlarmRegistryTest {
    IAppointedCommittee private _committee;

    function setUp() external {
        _committee = IAppointedCommittee(VM.deployCode("AppointedCommittee.sol", abi.encode(address(this))));
        signers = Membership.draw(4, "first");
        _committee.appoint(signers.roster());
        watch(_committee);
    }

    function endEpoch() internal override {
        _committee.appoint(Membership.draw(4, "second").roster());
    }
}

contract ElectedAlarmRegistryTest is AlarmRegistryTest, FiveCandidates {
    function setUp() public override {
        super.setUp();
        (signers,) = serve(five, "first");
        watch(book);
    }

    function endEpoch() internal override {
        serve(five, "second");
    }
}
