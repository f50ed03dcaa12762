// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAppointedCommittee} from "../../../contracts/interfaces/IAppointedCommittee.sol";
import {Certificate, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {VM} from "../forge/support/Vm.sol";
import {AnyRoster} from "./support/AnyRoster.sol";
import {Checks} from "./support/Checks.sol";
import {Deploy} from "./support/Deploy.sol";

/// @notice The appointer alone starts epochs, one after the other; a certificate is a quorum's of the current one.
contract AppointedCommitteeChecks is Checks {
    IAppointedCommittee private constant COMMITTEE = IAppointedCommittee(address(0xA11));
    address private constant APPOINTER = address(0xA22);

    /// @dev Four members, as bits.
    uint256 private constant ALL = 15;

    function setUp() external {
        Deploy.inAnyState(address(COMMITTEE), "AppointedCommittee", abi.encode(APPOINTER));
    }

    function check_appoint(address caller, Roster memory next, uint64 past) external {
        uint64 epoch = COMMITTEE.currentEpoch();
        VM.assume(past != epoch + 1);
        bytes32 place = keccak256(abi.encode(past, 1));
        bytes32 roster = VM.load(address(COMMITTEE), place);
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.appoint, (next)))) return;
        assert(caller == APPOINTER);
        assert(COMMITTEE.currentEpoch() == epoch + 1);
        assert(VM.load(address(COMMITTEE), place) == roster);
    }

    function check_requireQuorum(address caller, Certificate memory certificate) external {
        AnyRoster.seat(COMMITTEE, 4);
        (uint256 voters, uint256 votes) = (certificate.voters, AnyRoster.count(certificate.voters));
        // Where some are absent, their keys are subtracted, and halmos cannot follow the inverse.
        VM.assume(voters >= ALL || votes < AnyRoster.needed(COMMITTEE));
        if (!passes(caller, address(COMMITTEE), abi.encodeCall(COMMITTEE.requireQuorum, (certificate)))) return;
        assert(certificate.epoch == COMMITTEE.currentEpoch() && certificate.epoch != 0);
        assert(voters <= ALL && votes >= AnyRoster.needed(COMMITTEE));
        (uint256 x, uint256 y) = AnyRoster.sum();
        bytes32 digest = AnyRoster.digest(COMMITTEE, certificate, block.chainid, caller);
        assert(signed(x, y, digest, certificate.nonce, certificate.s));
    }
}
