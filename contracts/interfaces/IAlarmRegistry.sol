// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IEventCount} from "./IEventCount.sol";
import {IQuorum} from "./IQuorum.sol";

/// @title Proposals that members refused, with reasons (Algorithm 1, lines 15 to 21; Algorithm 2, lines 13 to 20)
/// @notice Serves the committee on its home chain, with its rosters and its EIP-712 domain.
interface IAlarmRegistry is IEventCount {
    /// @notice A member of the current epoch refused a proposal.
    event AlarmRaised(uint64 indexed epoch, bytes32 indexed proposal, address indexed member, string reason);

    /// @notice The signature is not by the member at `index` of this epoch.
    error InvalidAlarm(uint256 index, address recovered, address expected);
    /// @notice The alarm is not of the current epoch.
    error AlarmOutOfEpoch(uint64 given, uint64 current);
    /// @notice The member has raised an alarm on this proposal before; one is allowed.
    error AlarmRepeated(bytes32 proposal, uint256 index);
    /// @notice The member has raised `most` alarms in this epoch, the maximum.
    error TooManyAlarms(uint256 index, uint256 most);
    /// @notice The reason does not have 1 to 256 bytes.
    error ReasonLength(uint256 length);

    /// @notice The committee whose members raise alarms.
    function quorum() external view returns (IQuorum);

    /// @notice Bit i is set if member i has raised an alarm on `proposal` in `epoch`.
    function alarms(uint64 epoch, bytes32 proposal) external view returns (uint256 members);

    /// @notice Number of alarms that the member at `index` has raised in `epoch`; at most 32.
    function raised(uint64 epoch, uint256 index) external view returns (uint256 count);

    /// @notice Records the reason why the member at `index` refused `proposal`. Anyone may submit it.
    /// @dev `signature`: 64 bytes (EIP-2098) over `Alarm(uint64 epoch,bytes32 proposal,string reason)` under the
    /// domain of votes. Emits AlarmRaised. Reverts with AlarmOutOfEpoch, ReasonLength, InvalidAlarm, AlarmRepeated or
    /// TooManyAlarms.
    function alarm(uint64 epoch, bytes32 proposal, string calldata reason, uint256 index, bytes calldata signature)
        external;
}
