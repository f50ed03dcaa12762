// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {Action, IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {IReaderRegistry, Reader} from "../../../contracts/interfaces/IReaderRegistry.sol";
import {Curve, Point} from "./support/Curve.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice Readers come and go by themselves; the committee can bar them and do nothing else.
contract ReaderRegistryTest is World {
    IReaderRegistry private _registry;
    Point private _key;
    address private constant READER = address(0xEADE);

    function setUp() external {
        deploy();
        _registry = IReaderRegistry(VM.deployCode("ReaderRegistry.sol", abi.encode(committee, live)));
        _key = Curve.base(77);
    }

    function test_nobody_is_registered_at_first() external view {
        _is(Reader(0, 0, 0, false));
    }

    function test_who_registers_joins_before_the_next_block() external {
        publish(1);
        publish(1);
        VM.expectEmit(address(_registry));
        emit IReaderRegistry.ReaderRegistered(READER, _key.x, _key.y, 3);
        _register(_key);
        _is(Reader(_key.x, _key.y, 3, false));
    }

    function test_another_key_keeps_the_height() external {
        _register(_key);
        publish(1);
        Point memory other = Curve.base(78);
        _register(other);
        _is(Reader(other.x, other.y, 1, false));
    }

    function test_who_leaves_and_returns_loses_the_height() external {
        _register(_key);
        publish(1);
        VM.expectEmit(address(_registry));
        emit IReaderRegistry.ReaderLeft(READER);
        VM.prank(READER);
        _registry.leave();
        _is(Reader(0, 0, 0, false));
        _register(_key);
        VM.assertEq(_registry.reader(READER).joined, 2);
    }

    function test_who_is_not_registered_cannot_leave() external {
        _cannotLeave();
    }

    function test_what_is_no_point_is_no_key() external {
        Point[3] memory none = [Point(0, 0), Point(_key.x, _key.y + 1), Point(Curve.P, _key.y)];
        for (uint256 i = 0; i < none.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IReaderRegistry.InvalidReaderKey.selector, READER));
            _register(none[i]);
        }
    }

    function test_the_committee_bars_and_readmits() external {
        _register(_key);
        Action memory action = _certified(true);
        VM.expectEmit(address(_registry));
        emit IReaderRegistry.ReaderBarred(READER);
        _registry.setBarred(READER, true, action);
        _is(Reader(0, 0, 0, true));
        _cannotRegister();
        _cannotLeave();
        action = _certified(false);
        VM.expectEmit(address(_registry));
        emit IReaderRegistry.ReaderReadmitted(READER);
        _registry.setBarred(READER, false, action);
        _is(Reader(0, 0, 0, false));
        _register(_key);
        _is(Reader(_key.x, _key.y, 1, false));
    }

    function test_who_never_registered_can_be_barred() external {
        _registry.setBarred(READER, true, _certified(true));
        _cannotRegister();
    }

    function test_barring_twice_is_refused() external {
        _changesNothing(false);
        _registry.setBarred(READER, true, _certified(true));
        _changesNothing(true);
    }

    function test_a_certificate_bars_whom_it_names_and_nobody_else() external {
        Action memory action = _certified(true);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.setBarred(address(6), true, action);
        VM.expectPartialRevert(ICertified.NotCertified.selector);
        _registry.setBarred(READER, false, action);
    }

    function test_a_certificate_works_once() external {
        Action memory action = _certified(true);
        _registry.setBarred(READER, true, action);
        _registry.setBarred(READER, false, _certified(false));
        VM.expectPartialRevert(ICertified.ChunkOutOfOrder.selector);
        _registry.setBarred(READER, true, action);
    }

    function test_too_few_votes_bar_nobody() external {
        bytes32 digest = keccak256(abi.encode(READER, true));
        Action memory action = certifyBy(address(_registry), IReaderRegistry.setBarred.selector, digest, 3);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        _registry.setBarred(READER, true, action);
    }

    function _register(Point memory key) private {
        VM.prank(READER);
        _registry.register(key.x, key.y);
    }

    function _certified(bool barred) private returns (Action memory) {
        bytes32 digest = keccak256(abi.encode(READER, barred));
        return certify(address(_registry), IReaderRegistry.setBarred.selector, digest);
    }

    function _is(Reader memory expected) private view {
        VM.assertEq(abi.encode(_registry.reader(READER)), abi.encode(expected));
    }

    function _cannotLeave() private {
        VM.prank(READER);
        VM.expectRevert(abi.encodeWithSelector(IReaderRegistry.NotRegistered.selector, READER));
        _registry.leave();
    }

    function _cannotRegister() private {
        VM.expectRevert(abi.encodeWithSelector(IReaderRegistry.ReaderIsBarred.selector, READER));
        _register(_key);
    }

    function _changesNothing(bool barred) private {
        Action memory action = _certified(barred);
        VM.expectRevert(abi.encodeWithSelector(IReaderRegistry.NothingToChange.selector, READER));
        _registry.setBarred(READER, barred, action);
    }
}
