// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {IQuorum} from "../../../contracts/interfaces/IQuorum.sol";
import {ArchiveHistories} from "./support/ArchiveHistories.sol";
import {Invariants} from "./support/Invariants.sol";
import {VM} from "./support/Vm.sol";

/// @notice Random histories of the archive: it only grows.
contract ArchiveRegistryInvariants is Invariants {
    ArchiveHistories private _archive;

    function setUp() external {
        _archive = new ArchiveHistories();
        bytes4[] memory actions = new bytes4[](4);
        actions[0] = ArchiveHistories.archiveSome.selector;
        actions[1] = ArchiveHistories.archiveBadly.selector;
        actions[2] = ArchiveHistories.advance.selector;
        actions[3] = ArchiveHistories.archiveInChunks.selector;
        explore(address(_archive), actions);
    }

    function invariant_the_archive_only_grows() external view {
        _archive.check();
    }

    function test_histories_are_not_tame() external {
        play(100);
        _archive.check();
        bytes32[11] memory outcomes = [
            bytes32("archive"),
            "chunks",
            "epoch",
            IArchiveRegistry.NothingToArchive.selector,
            IArchiveRegistry.UnknownReason.selector,
            IArchiveRegistry.UnknownCodec.selector,
            IArchiveRegistry.TimestampOutOfRange.selector,
            IArchiveRegistry.HeadMismatch.selector,
            ICertified.NotCertified.selector,
            ICertified.ChunkOutOfOrder.selector,
            IQuorum.StaleEpoch.selector
        ];
        for (uint256 i = 0; i < outcomes.length; ++i) {
            VM.assertGe(_archive.seen(outcomes[i]), 1);
        }
    }
}
