// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {IParticipantRegistry, Participant} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action, IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice The federation file is founded once and changed by the committee. Participants come and go by themselves,
/// with one number each for ever; the committee can admit and bar them and do nothing else.
contract ParticipantRegistryTest is World {
    IParticipantRegistry private _registry;
    address private constant ANN = address(0xA11);
    address private constant BEN = address(0xBE2);
    address private constant CAT = address(0xCA7);
    bytes32 private constant FILE = keccak256("file");
    bytes32 private constant OTHER_FILE = keccak256("other file");

    function setUp() external {
        deploy();
        VM.roll(100);
        _registry = _deployed(2, true);
    }

    function test_the_deployer_founds_the_federation_once() external {
        VM.assertEq(_registry.deployer(), address(this));
        VM.assertEq(_registry.fileDigest(), bytes32(0));
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.FileChanged(FILE);
        _registry.found(FILE);
        VM.assertEq(_registry.fileDigest(), FILE);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.AlreadyFounded.selector, FILE));
        _registry.found(OTHER_FILE);
    }

    function testFuzz_nobody_else_founds_it(address caller) external {
        VM.assume(caller != address(this));
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.NotDeployer.selector, caller, address(this)));
        VM.prank(caller);
        _registry.found(FILE);
    }

    function test_zero_founds_nothing() external {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidFile.selector, bytes32(0)));
        _registry.found(0);
    }

    function test_the_committee_changes_the_file() external {
        _registry.found(FILE);
        Action memory action = _certifiedFile(OTHER_FILE);
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.FileChanged(OTHER_FILE);
        _registry.changeFile(OTHER_FILE, action);
        VM.assertEq(_registry.fileDigest(), OTHER_FILE);
        _registry.changeFile(FILE, _certifiedFile(FILE));
        VM.expectPartialRevert(ICertified.ChunkOutOfOrder.selector);
        _registry.changeFile(OTHER_FILE, action);
    }

    function test_the_committee_founds_what_the_deployer_has_not() external {
        _registry.changeFile(FILE, _certifiedFile(FILE));
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.AlreadyFounded.selector, FILE));
        _registry.found(OTHER_FILE);
    }

    function test_the_file_changes_to_neither_zero_nor_itself() external {
        _registry.found(FILE);
        bytes32[2] memory digests = [bytes32(0), FILE];
        for (uint256 i = 0; i < digests.length; ++i) {
            Action memory action = _certifiedFile(digests[i]);
            VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.InvalidFile.selector, digests[i]));
            _registry.changeFile(digests[i], action);
        }
    }

    function testFuzz_a_certificate_changes_the_file_to_the_one_it_names(bytes32 digest) external {
        VM.assume(digest != OTHER_FILE);
        Action memory action = _certifiedFile(OTHER_FILE);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.changeFile(digest, action);
    }

    function test_nobody_is_joined_at_first() external view {
        _is(ANN, Participant(0, 0, false, false));
        VM.assertEq(_registry.count(), 0);
        VM.assertEq(_registry.accountOf(0), address(0));
        VM.assertEq(_registry.accountOf(1), address(0));
    }

    function test_numbers_are_given_in_the_order_of_joining() external {
        _joins(ANN, 1);
        VM.roll(105);
        _joins(BEN, 2);
        _is(ANN, Participant(1, 100, false, false));
        _is(BEN, Participant(2, 105, false, false));
        VM.assertEq(_registry.count(), 2);
        VM.assertEq(_registry.accountOf(1), ANN);
        VM.assertEq(_registry.accountOf(2), BEN);
    }

    function test_who_leaves_keeps_the_number_and_returns_with_it() external {
        _joins(ANN, 1);
        _joins(BEN, 2);
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.ParticipantLeft(ANN, 1);
        VM.prank(ANN);
        _registry.leave();
        _is(ANN, Participant(1, 0, false, false));
        VM.assertEq(_registry.accountOf(1), ANN);
        VM.roll(110);
        _joins(ANN, 1);
        _is(ANN, Participant(1, 110, false, false));
        VM.assertEq(_registry.count(), 2);
    }

    function test_who_is_joined_cannot_join_again() external {
        _joins(ANN, 1);
        _cannotJoin(ANN, IParticipantRegistry.AlreadyJoined.selector);
    }

    function test_who_is_not_joined_cannot_leave() external {
        _cannotLeave(ANN);
    }

    function testFuzz_seats_bound_who_ever_joins(uint8 seats) external {
        _registry = _deployed(seats, true);
        for (uint160 i = 1; i <= seats; ++i) {
            _joins(address(i), uint32(i));
            VM.prank(address(i));
            _registry.leave();
        }
        VM.assertEq(_registry.count(), seats);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.AllSeatsTaken.selector, seats));
        VM.prank(CAT);
        _registry.join();
    }

    function test_the_committee_admits_to_a_registry_that_is_not_open() external {
        _registry = _deployed(2, false);
        VM.assertFalse(_registry.open());
        _cannotJoin(ANN, IParticipantRegistry.NotAdmitted.selector);
        Action memory action = _certifiedAdmission(ANN);
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.ParticipantAdmitted(ANN);
        _registry.admit(ANN, action);
        _is(ANN, Participant(0, 0, false, true));
        _joins(ANN, 1);
        _cannotJoin(BEN, IParticipantRegistry.NotAdmitted.selector);
        VM.prank(ANN);
        _registry.leave();
        _joins(ANN, 1);
    }

    function test_admitting_twice_is_refused() external {
        _registry.admit(ANN, _certifiedAdmission(ANN));
        Action memory action = _certifiedAdmission(ANN);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.NothingToChange.selector, ANN));
        _registry.admit(ANN, action);
    }

    function test_the_committee_bars_and_readmits() external {
        _joins(ANN, 1);
        Action memory action = _certified(ANN, true);
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.ParticipantBarred(ANN);
        _registry.setBarred(ANN, true, action);
        _is(ANN, Participant(1, 0, true, false));
        _cannotJoin(ANN, IParticipantRegistry.ParticipantIsBarred.selector);
        _cannotLeave(ANN);
        action = _certified(ANN, false);
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.ParticipantReadmitted(ANN);
        _registry.setBarred(ANN, false, action);
        _is(ANN, Participant(1, 0, false, false));
        _joins(BEN, 2);
        _joins(ANN, 1);
    }

    function test_admission_lifts_no_bar() external {
        _registry = _deployed(2, false);
        _registry.setBarred(ANN, true, _certified(ANN, true));
        _registry.admit(ANN, _certifiedAdmission(ANN));
        _cannotJoin(ANN, IParticipantRegistry.ParticipantIsBarred.selector);
    }

    function test_barring_twice_is_refused() external {
        _changesNothing(false);
        _registry.setBarred(ANN, true, _certified(ANN, true));
        _changesNothing(true);
    }

    function testFuzz_a_certificate_is_for_the_account_it_names(address account) external {
        VM.assume(account != ANN);
        Action memory action = _certified(ANN, true);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.setBarred(account, true, action);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.setBarred(ANN, false, action);
        action = _certifiedAdmission(ANN);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.admit(account, action);
    }

    function test_a_certificate_works_once() external {
        Action memory action = _certified(ANN, true);
        _registry.setBarred(ANN, true, action);
        _registry.setBarred(ANN, false, _certified(ANN, false));
        VM.expectPartialRevert(ICertified.ChunkOutOfOrder.selector);
        _registry.setBarred(ANN, true, action);
    }

    function test_too_few_votes_decide_nothing() external {
        bytes memory refusal = abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3);
        Action memory action =
            certifyBy(address(_registry), IParticipantRegistry.admit.selector, keccak256(abi.encode(ANN)), 3);
        VM.expectRevert(refusal);
        _registry.admit(ANN, action);
        action = certifyBy(address(_registry), IParticipantRegistry.changeFile.selector, keccak256(abi.encode(FILE)), 3);
        VM.expectRevert(refusal);
        _registry.changeFile(FILE, action);
    }

    function _deployed(uint32 seats, bool open) private returns (IParticipantRegistry) {
        return IParticipantRegistry(VM.deployCode("ParticipantRegistry.sol", abi.encode(committee, live, seats, open)));
    }

    function _joins(address account, uint32 number) private {
        VM.expectEmit(address(_registry));
        emit IParticipantRegistry.ParticipantJoined(account, number);
        VM.prank(account);
        _registry.join();
    }

    function _cannotJoin(address account, bytes4 refusal) private {
        VM.expectRevert(abi.encodeWithSelector(refusal, account));
        VM.prank(account);
        _registry.join();
    }

    function _cannotLeave(address account) private {
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.NotJoined.selector, account));
        VM.prank(account);
        _registry.leave();
    }

    function _certified(address account, bool barred) private returns (Action memory) {
        bytes32 digest = keccak256(abi.encode(account, barred));
        return certify(address(_registry), IParticipantRegistry.setBarred.selector, digest);
    }

    function _certifiedAdmission(address account) private returns (Action memory) {
        return certify(address(_registry), IParticipantRegistry.admit.selector, keccak256(abi.encode(account)));
    }

    function _certifiedFile(bytes32 digest) private returns (Action memory) {
        return certify(address(_registry), IParticipantRegistry.changeFile.selector, keccak256(abi.encode(digest)));
    }

    function _changesNothing(bool barred) private {
        Action memory action = _certified(ANN, barred);
        VM.expectRevert(abi.encodeWithSelector(IParticipantRegistry.NothingToChange.selector, ANN));
        _registry.setBarred(ANN, barred, action);
    }

    function _is(address account, Participant memory expected) private view {
        VM.assertEq(abi.encode(_registry.participant(account)), abi.encode(expected));
    }
}
