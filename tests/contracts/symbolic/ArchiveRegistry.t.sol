// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry, Record} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../forge/support/Vm.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy} from "./support/Deploy.sol";

/// @notice The archive only grows, and both its records and its auditors follow a quorum.
contract ArchiveRegistryChecks is CommitteeChecks {
    IArchiveRegistry private constant ARCHIVE = IArchiveRegistry(address(0xA11));

    function setUp() external {
        Deploy.inAnyState(address(ARCHIVE), "ArchiveRegistry", abi.encode(quorum));
    }

    function check_append(
        address caller,
        uint64 clock,
        bytes32 expectedHead,
        uint64 timestamp,
        Record[] memory newRecords,
        Action memory action,
        uint64 past,
        address auditor
    ) external {
        VM.warp(clock);
        (uint64 length, bytes32 head) = (ARCHIVE.length(), ARCHIVE.head());
        VM.assume(past < length && length < type(uint64).max - 2);
        bytes memory record = abi.encode(ARCHIVE.records(past, 1));
        bytes memory key = _key(auditor);
        uint32 before = done(address(ARCHIVE), action.certificate.proposal);
        bytes memory call = abi.encodeCall(ARCHIVE.append, (expectedHead, timestamp, newRecords, action));
        if (!passes(caller, address(ARCHIVE), call)) return;
        assert(holds(address(ARCHIVE), action));
        bytes32 digest = keccak256(abi.encode(expectedHead, timestamp, newRecords));
        assert(covers(address(ARCHIVE), ARCHIVE.append.selector, digest, action));
        assert(before == action.chunk && done(address(ARCHIVE), action.certificate.proposal) == before + 1);
        assert(expectedHead == head && timestamp <= clock + ARCHIVE.MAX_DRIFT());
        assert(newRecords.length > 0 && ARCHIVE.length() == length + newRecords.length);
        assert(same(abi.encode(ARCHIVE.records(past, 1)), record));
        assert(same(_key(auditor), key));
    }

    function check_setAuditor(
        address caller,
        address auditor,
        uint256 x,
        uint256 y,
        Action memory action,
        address other,
        uint64 past
    ) external {
        (uint64 length, bytes32 head) = (ARCHIVE.length(), ARCHIVE.head());
        VM.assume(past < length);
        bytes memory record = abi.encode(ARCHIVE.records(past, 1));
        bytes memory key = _key(other);
        uint32 before = done(address(ARCHIVE), action.certificate.proposal);
        bytes memory call = abi.encodeCall(ARCHIVE.setAuditor, (auditor, x, y, action));
        if (!passes(caller, address(ARCHIVE), call)) return;
        assert(holds(address(ARCHIVE), action));
        bytes32 digest = keccak256(abi.encode(auditor, x, y));
        assert(covers(address(ARCHIVE), ARCHIVE.setAuditor.selector, digest, action));
        assert(before == action.chunk && done(address(ARCHIVE), action.certificate.proposal) == before + 1);
        assert(same(_key(auditor), abi.encode(x, y)));
        assert(other == auditor || same(_key(other), key));
        assert(ARCHIVE.length() == length && ARCHIVE.head() == head);
        assert(same(abi.encode(ARCHIVE.records(past, 1)), record));
    }

    function _key(address auditor) private view returns (bytes memory) {
        (uint256 x, uint256 y) = ARCHIVE.auditorKey(auditor);
        return abi.encode(x, y);
    }
}
