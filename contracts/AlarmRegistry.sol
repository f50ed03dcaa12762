// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAlarmRegistry} from "./interfaces/IAlarmRegistry.sol";
import {IEventCount} from "./interfaces/IEventCount.sol";
import {IQuorum} from "./interfaces/IQuorum.sol";
import {Signature64} from "./lib/Signature64.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title Alarms of the current epoch's members
contract AlarmRegistry is IAlarmRegistry {
    bytes32 private constant _ALARM_TYPEHASH = keccak256("Alarm(uint64 epoch,bytes32 proposal,string reason)");
    uint256 private constant _MAX_REASON = 256;
    uint256 private constant _MAX_ALARMS = 32;

    /// @inheritdoc IAlarmRegistry
    IQuorum public immutable override quorum;

    /// @inheritdoc IAlarmRegistry
    mapping(uint64 epoch => mapping(bytes32 proposal => uint256 members)) public override alarms;
    /// @inheritdoc IAlarmRegistry
    mapping(uint64 epoch => mapping(uint256 index => uint256 count)) public override raised;
    /// @inheritdoc IEventCount
    uint64 public override eventCount;

    constructor(IQuorum quorum_) {
        quorum = quorum_;
    }

    /// @inheritdoc IAlarmRegistry
    function alarm(uint64 epoch, bytes32 proposal, string calldata reason, uint256 index, bytes calldata signature)
        external
        override
    {
        uint64 current = quorum.currentEpoch();
        if (epoch != current) revert AlarmOutOfEpoch(epoch, current);
        uint256 length = bytes(reason).length;
        if (length == 0 || length > _MAX_REASON) revert ReasonLength(length);
        bytes32 content = keccak256(abi.encode(_ALARM_TYPEHASH, epoch, proposal, keccak256(bytes(reason))));
        bytes32 digest = MessageHashUtils.toTypedDataHash(quorum.domainSeparator(), content);
        address recovered = Signature64.recover(digest, signature);
        address member = quorum.memberAt(epoch, index);
        if (member == address(0) || recovered != member) revert InvalidAlarm(index, recovered, member);
        uint256 members = alarms[epoch][proposal];
        if ((members >> index) & 1 != 0) revert AlarmRepeated(proposal, index);
        if (raised[epoch][index] == _MAX_ALARMS) revert TooManyAlarms(index, _MAX_ALARMS);
        ++raised[epoch][index];
        alarms[epoch][proposal] = members | (1 << index);
        emit AlarmRaised(epoch, proposal, member, reason);
        ++eventCount;
    }
}
