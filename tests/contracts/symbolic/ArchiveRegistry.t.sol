// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry, Record} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {Action} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../forge/support/Vm.sol";
import {CommitteeChecks} from "./support/Checks.sol";
import {Deploy} from "./support/Deploy.sol";

/// @notice The archive only grows, and both its records and its auditors follow a quorum.
/// @dev Records are code, which nothing changes; their number is.
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
        address auditor
    ) external {
        VM.warp(clock);
        (uint64 length, bytes32 head) = (ARCHIVE.length(), ARCHIVE.head());
        VM.assume(length < type(uint64).max - 2);
        bytes memory key = _key(auditor);
        uint256 codes = _codes();
        uint32 before = done(address(ARCHIVE), action.certificate.proposal);
        bytes memory call = abi.encodeCall(ARCHIVE.append, (expectedHead, timestamp, newRecords, action));
        if (!passes(caller, address(ARCHIVE), call)) return;
        assert(holds(address(ARCHIVE), action));
        bytes32 digest = keccak256(abi.encode(expectedHead, timestamp, newRecords));
        assert(covers(address(ARCHIVE), ARCHIVE.append.selector, digest, action));
        // One chunk is not counted: no second one builds on the same head.
        uint32 counted = action.chunks == 1 ? 0 : 1;
        assert(before * counted == action.chunk);
        assert(done(address(ARCHIVE), action.certificate.proposal) == before + counted);
        assert(_codes() == codes + 1);
        assert(expectedHead == head && timestamp <= clock + ARCHIVE.MAX_DRIFT());
        assert(newRecords.length > 0 && ARCHIVE.length() == length + newRecords.length);
        assert(same(_key(auditor), key));
    }

    function check_setAuditor(
        address caller,
        address auditor,
        uint256 x,
        uint256 y,
        Action memory action,
        address other
    ) external {
        (uint64 length, bytes32 head) = (ARCHIVE.length(), ARCHIVE.head());
        bytes memory key = _key(other);
        uint256 codes = _codes();
        uint32 before = done(address(ARCHIVE), action.certificate.proposal);
        bytes memory call = abi.encodeCall(ARCHIVE.setAuditor, (auditor, x, y, action));
        if (!passes(caller, address(ARCHIVE), call)) return;
        assert(holds(address(ARCHIVE), action));
        bytes32 digest = keccak256(abi.encode(auditor, x, y));
        assert(covers(address(ARCHIVE), ARCHIVE.setAuditor.selector, digest, action));
        assert(before == action.chunk && done(address(ARCHIVE), action.certificate.proposal) == before + 1);
        assert(same(_key(auditor), abi.encode(x, y)));
        assert(other == auditor || same(_key(other), key));
        assert(ARCHIVE.length() == length && ARCHIVE.head() == head && _codes() == codes);
    }

    /// @dev The last field of slot 1.
    function _codes() private view returns (uint256) {
        return uint256(VM.load(address(ARCHIVE), bytes32(uint256(1)))) >> 192;
    }

    function _key(address auditor) private view returns (bytes memory) {
        (uint256 x, uint256 y) = ARCHIVE.auditorKey(auditor);
        return abi.encode(x, y);
    }
}
