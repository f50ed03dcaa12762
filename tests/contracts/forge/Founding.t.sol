// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IElection, Phase} from "../../../contracts/interfaces/IElection.sol";
import {IStakes, Parameters} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, Elections, Rules} from "./support/Elections.sol";
import {VM} from "./support/Vm.sol";

/// @notice Who may stand for the first committee, and who from then on.
contract FoundingTest is Elections {
    /// @notice Finding: four strangers took epoch 1.
    function test_only_founders_stand_for_the_first_committee() external {
        found(Rules.standard(), _accounts(3));
        Candidate[] memory all = joined(6);
        for (uint256 i = 0; i < 6; ++i) {
            VM.assertEq(book.founder(all[i].account), i < 3);
        }
        book.openElection();
        for (uint256 i = 3; i < 6; ++i) {
            bytes32 content = commitment(all[i]);
            VM.prank(all[i].account);
            VM.expectRevert(abi.encodeWithSelector(IElection.NotFounder.selector, all[i].account));
            book.commit(content);
        }
        pause(PERIOD);
        book.proceed();
        inPhase(Phase.Idle);
        (, Candidate[] memory serving) = serve(slice(all, 0, 3), "founders");
        VM.assertEq(serving.length, 3);
        (, serving) = serve(slice(all, 2, 6), "others");
        VM.assertEq(serving.length, 4);
        VM.assertEq(book.currentEpoch(), 2);
    }

    function test_without_founders_everybody_may_stand() external {
        found(Rules.standard());
        serve(joined(4), "first");
        VM.assertEq(book.currentEpoch(), 1);
    }

    function test_founders_that_could_not_elect_are_refused() external {
        _refused(_accounts(2), "too few founders");
        address[] memory twice = _accounts(3);
        twice[2] = twice[0];
        _refused(twice, "a founder is listed twice");
    }

    function _accounts(uint256 count) private pure returns (address[] memory list) {
        list = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = person(i).account;
        }
    }

    function _refused(address[] memory founders, string memory reason) private {
        Parameters memory rules = Rules.standard();
        bytes memory arguments = abi.encode(VM.deployCode("VrfVerifier.sol"), rules, founders);
        bytes memory code = bytes.concat(VM.getCode("Committee.sol"), arguments);
        VM.expectRevert(abi.encodeWithSelector(IStakes.InvalidParameters.selector, reason));
        assembly ("memory-safe") {
            pop(create(0, add(code, 0x20), mload(code)))
        }
    }
}
