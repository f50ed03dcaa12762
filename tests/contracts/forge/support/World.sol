// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAppointedCommittee} from "../../../../contracts/interfaces/IAppointedCommittee.sol";
import {IArchiveRegistry, Record} from "../../../../contracts/interfaces/IArchiveRegistry.sol";
import {ILiveChain} from "../../../../contracts/interfaces/ILiveChain.sol";
import {Action, Roster} from "../../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../../contracts/interfaces/IQuorumMirror.sol";
import {LiveScene} from "./LiveScene.sol";
import {Membership} from "./Members.sol";
import {VM} from "./Vm.sol";

/// @notice An appointed committee of four in epoch 1 with its live chain, its mirror and the mirror's archive.
abstract contract World is LiveScene {
    IAppointedCommittee internal committee;
    IQuorumMirror internal mirror;
    IArchiveRegistry internal archive;

    function deploy() internal {
        members = Membership.draw(4, "first");
        committee = IAppointedCommittee(VM.deployCode("AppointedCommittee.sol", abi.encode(address(this))));
        committee.appoint(members.roster());
        domain = Membership.domainOf(block.chainid, address(committee));
        follow(ILiveChain(VM.deployCode("LiveChain.sol", abi.encode(committee))));
        bytes memory arguments = abi.encode(block.chainid, committee, uint64(1), members.roster());
        mirror = IQuorumMirror(VM.deployCode("QuorumMirror.sol", arguments));
        archive = IArchiveRegistry(VM.deployCode("ArchiveRegistry.sol", abi.encode(mirror)));
    }

    /// @notice Appoints `size` members, who decide from here on.
    function handOver(uint256 size, string memory seed) internal {
        members = Membership.draw(size, seed);
        committee.appoint(members.roster());
        ++epoch;
    }

    function certifyRecords(bytes32 head, uint64 timestamp, Record[] memory records) internal returns (Action memory) {
        bytes32 digest = keccak256(abi.encode(head, timestamp, records));
        return certify(address(archive), IArchiveRegistry.append.selector, digest);
    }

    function archiveRecords(bytes32 head, uint64 timestamp, Record[] memory records) internal {
        archive.append(head, timestamp, records, certifyRecords(head, timestamp, records));
    }

    function certifyRoster(uint64 next, Roster memory roster) internal returns (Action memory) {
        return certify(address(mirror), IQuorumMirror.advance.selector, keccak256(abi.encode(next, roster)));
    }
}
