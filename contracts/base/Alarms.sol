// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAlarms} from "../interfaces/IAlarms.sol";
import {Signature64} from "../lib/Signature64.sol";
import {EpochRosters} from "./EpochRosters.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title Alarms of the current epoch's members
abstract contract Alarms is EpochRosters, IAlarms {
    bytes32 private constant _ALARM_TYPEHASH = keccak256("Alarm(uint64 epoch,bytes32 proposal,string reason)");
    uint256 private constant _MAX_REASON = 256;

    /// @inheritdoc IAlarms
    mapping(uint64 epoch => mapping(bytes32 proposal => uint256 members)) public override alarms;

    /// @inheritdoc IAlarms
    function alarm(uint64 epoch, bytes32 proposal, string calldata reason, uint256 index, bytes calldata signature)
        external
        override
    {
        if (epoch != currentEpoch()) revert AlarmOutOfEpoch(epoch, currentEpoch());
        uint256 length = bytes(reason).length;
        if (length == 0 || length > _MAX_REASON) revert ReasonLength(length);
        bytes32 content = keccak256(abi.encode(_ALARM_TYPEHASH, epoch, proposal, keccak256(bytes(reason))));
        address recovered = Signature64.recover(MessageHashUtils.toTypedDataHash(domainSeparator, content), signature);
        address member = _member(epoch, index);
        if (member == address(0) || recovered != member) revert InvalidAlarm(index, recovered, member);
        uint256 raised = alarms[epoch][proposal];
        if ((raised >> index) & 1 != 0) revert AlarmRepeated(proposal, index);
        alarms[epoch][proposal] = raised | (1 << index);
        emit AlarmRaised(epoch, proposal, member, reason);
    }
}
