// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {RegistryScene} from "./support/RegistryScene.sol";
import {VM} from "./support/Vm.sol";

/// @notice An account has four places for requests that are not decided, or were dismissed within a day of blocks, and
/// hands in so many parts in a day.
contract BudgetsTest is RegistryScene {
    uint64 private _held;

    function setUp() external {
        deploy();
        VM.roll(NOW);
        deployRegistry(2, true);
        join(ANN);
        join(BEN);
        _held = registry.HOLD_BLOCKS();
        VM.assertEq(registry.MAX_PLACES(), 4);
        VM.assertEq(_held, 7200);
        VM.assertEq(registry.MAX_HAND_INS(), 1024);
    }

    function test_a_fifth_undecided_request_is_refused() external {
        _fillPlaces(ANN);
        _cannotFile(ANN);
        VM.assertEq(registry.requests(), 4);
    }

    function testFuzz_an_undecided_request_holds_its_place_for_ever(uint64 later) external {
        _fillPlaces(ANN);
        VM.roll(NOW + later % 2 ** 40);
        _cannotFile(ANN);
    }

    function test_places_are_an_accounts_own() external {
        _fillPlaces(ANN);
        _fillPlaces(BEN);
        decide(1, true);
        _cannotFile(BEN);
        VM.assertEq(file(ANN), 9);
        _cannotFile(ANN);
        decide(5, true);
        VM.assertEq(file(BEN), 10);
    }

    function testFuzz_an_admission_frees_a_place_at_once(uint8 which) external {
        _fillPlaces(ANN);
        uint32 request = 1 + which % 4;
        decide(request, true);
        uint32 next = file(ANN);
        VM.assertEq(registry.filed(next).place, registry.filed(request).place);
        _cannotFile(ANN);
    }

    function testFuzz_a_dismissed_request_holds_its_place(uint8 which, uint64 decided, uint64 later) external {
        _fillPlaces(ANN);
        decided = NOW + decided % 2 ** 40;
        VM.roll(decided);
        uint32 request = 1 + which % 4;
        decide(request, false);
        VM.roll(decided + later % (_held + 1));
        _cannotFile(ANN);
        VM.roll(decided + _held);
        _cannotFile(ANN);
        VM.roll(decided + _held + 1 + later % 2 ** 40);
        uint32 next = file(ANN);
        VM.assertEq(registry.filed(next).place, registry.filed(request).place);
        _cannotFile(ANN);
    }

    /// @notice Neither does a decision on one request free another's place, nor leaving, returning and being barred.
    function test_who_returns_has_the_places_that_it_had() external {
        _fillPlaces(ANN);
        decide(2, false);
        leave(ANN);
        join(ANN);
        _cannotFile(ANN);
        setBarred(ANN, true);
        setBarred(ANN, false);
        join(ANN);
        _cannotFile(ANN);
        VM.roll(NOW + _held + 1);
        VM.assertEq(registry.filed(file(ANN)).place, 1);
        _cannotFile(ANN);
    }

    function test_as_many_requests_as_are_admitted() external {
        for (uint32 i = 1; i <= 20; ++i) {
            VM.assertEq(file(ANN), i);
            VM.assertEq(registry.filed(i).place, 0);
            decide(i, true);
        }
        _fillPlaces(ANN);
        _cannotFile(ANN);
    }

    function test_an_account_hands_in_so_many_parts_in_a_period() external {
        decide(file(ANN, DIGEST, RAW, 3 * _held), true);
        decide(file(BEN, DIGEST, RAW, 3 * _held), true);
        uint64 period = NOW / _held + 1;
        VM.roll(period * _held);
        for (uint32 i = 0; i < 1024; ++i) {
            if (i == 1000) VM.roll(period * _held + 50);
            handIn(ANN, 1 + i % 2);
        }
        _cannotHandIn(ANN);
        VM.roll((period + 1) * _held - 1);
        _cannotHandIn(ANN);
        handIn(BEN, 1);
        VM.roll((period + 1) * _held);
        for (uint32 i = 0; i < 1024; ++i) {
            handIn(ANN, 1);
        }
        _cannotHandIn(ANN);
    }

    function test_a_refused_part_does_not_count() external {
        decide(file(ANN, DIGEST, RAW, 3 * _held), true);
        for (uint32 i = 0; i < 1023; ++i) {
            handIn(ANN, 1);
        }
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.RequestNotAdmitted.selector, 2));
        handIn(ANN, 2);
        handIn(ANN, 1);
        leave(ANN);
        join(ANN);
        _cannotHandIn(ANN);
    }

    function _fillPlaces(address account) private {
        for (uint256 i = 0; i < 4; ++i) {
            VM.assertEq(registry.filed(file(account)).place, i);
        }
    }

    function _cannotFile(address account) private {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.AllPlacesTaken.selector, account, 4));
        file(account);
    }

    function _cannotHandIn(address account) private {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.TooManyHandIns.selector, account, 1024));
        handIn(account, 1);
    }
}
