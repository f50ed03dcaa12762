// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {IReaderRegistry, Reader} from "../../../contracts/interfaces/IReaderRegistry.sol";
import {AnyHeight} from "./support/AnyHeight.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy, SVM} from "./support/Deploy.sol";

/// @notice Readers come and go by themselves; a quorum bars and readmits, and does nothing else.
contract ReaderRegistryChecks is CommitteeChecks {
    IReaderRegistry private constant REGISTRY = IReaderRegistry(address(0xA11));
    AnyHeight private _live = new AnyHeight();

    function setUp() external {
        Deploy.inAnyState(address(REGISTRY), "ReaderRegistry", abi.encode(quorum, _live));
        SVM.enableSymbolicStorage(address(_live));
    }

    function check_register(address caller, uint256 x, uint256 y, address other, bytes32 proposal) external {
        (Reader memory own, Reader memory another) = (REGISTRY.reader(caller), REGISTRY.reader(other));
        uint32 before = done(address(REGISTRY), proposal);
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.register, (x, y)))) return;
        assert(!own.barred);
        own = Reader(x, y, own.joined == 0 ? _live.height() + 1 : own.joined, false);
        assert(_is(caller, own));
        assert(other == caller || _is(other, another));
        assert(done(address(REGISTRY), proposal) == before);
    }

    function check_leave(address caller, address other, bytes32 proposal) external {
        (Reader memory own, Reader memory another) = (REGISTRY.reader(caller), REGISTRY.reader(other));
        uint32 before = done(address(REGISTRY), proposal);
        if (!passes(caller, address(REGISTRY), abi.encodeCall(REGISTRY.leave, ()))) return;
        assert(own.joined != 0);
        assert(_is(caller, Reader(0, 0, 0, false)));
        assert(other == caller || _is(other, another));
        assert(done(address(REGISTRY), proposal) == before);
    }

    function check_setBarred(address caller, address account, bool barred, Action memory action, address other)
        external
    {
        Reader memory another = REGISTRY.reader(other);
        uint32 before = done(address(REGISTRY), action.certificate.proposal);
        bytes memory call = abi.encodeCall(REGISTRY.setBarred, (account, barred, action));
        if (!passes(caller, address(REGISTRY), call)) return;
        assert(holds(address(REGISTRY), action));
        assert(covers(address(REGISTRY), REGISTRY.setBarred.selector, keccak256(abi.encode(account, barred)), action));
        assert(before == action.chunk && done(address(REGISTRY), action.certificate.proposal) == before + 1);
        assert(_is(account, Reader(0, 0, 0, barred)));
        assert(other == account || _is(other, another));
    }

    function _is(address account, Reader memory expected) private view returns (bool) {
        return same(abi.encode(REGISTRY.reader(account)), abi.encode(expected));
    }
}
