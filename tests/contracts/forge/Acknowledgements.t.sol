// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAcknowledgements} from "../../../contracts/interfaces/IAcknowledgements.sol";
import {Action, Certificate, IQuorum, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../contracts/interfaces/IQuorumMirror.sol";
import {IStakes} from "../../../contracts/interfaces/IStakes.sol";
import {Candidate, FiveCandidates} from "./support/Elections.sol";
import {Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";

/// @notice A mirror that lags obeys the committee it stands at, whose stake stays in until a later one has seen the
/// mirror leave it behind.
contract AcknowledgementsTest is FiveCandidates {
    Members private _first;
    Candidate private _leaving;

    /// @notice One of epoch 1 wants to leave; epoch 2 serves without it.
    function setUp() public override {
        super.setUp();
        Candidate[] memory serving;
        (_first, serving) = serve(five, "first");
        _leaving = serving[0];
        VM.prank(_leaving.account);
        book.unbond();
    }

    /// @notice Finding: a retired committee ruled a lagging mirror after its stake was withdrawn.
    function test_nobody_withdraws_while_a_mirror_may_obey_it() external {
        IQuorumMirror mirror = _mirror();
        (Members memory second,) = serve(without(five, _leaving), "second");
        pause(1_000_000);
        _behind(0);
        Certificate memory stale =
            _first.certificate(bookDomain, block.chainid, address(this), 1, "proposal", "content", 7);
        mirror.requireQuorum(stale);
        _advance(mirror);
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        mirror.requireQuorum(stale);
        acknowledge(second, 2);
        _withdrawsAfterTheDelay();
    }

    function test_any_later_committee_may_say_so() external {
        serve(without(five, _leaving), "second");
        pause(10_000);
        (Members memory third,) = serve(without(five, _leaving), "third");
        _behind(0);
        acknowledge(third, 3);
        VM.assertEq(book.acknowledged(), 3);
        _withdrawsAfterTheDelay();
    }

    function test_the_delay_runs_from_the_first_acknowledgement() external {
        Candidate[] memory rest = without(five, _leaving);
        (Members memory next,) = serve(rest, "second");
        acknowledge(next, 2);
        uint256 at = block.timestamp + 10_000;
        for (uint64 epoch = 3; epoch < 9; ++epoch) {
            (next,) = serve(rest, VM.toString(epoch));
            acknowledge(next, epoch);
        }
        VM.assertLt(block.timestamp, at);
        expectRefusal(_leaving, abi.encodeWithSelector(IStakes.TooEarly.selector, block.timestamp, at));
        book.withdraw();
        VM.warp(at);
        withdraws(_leaving);
    }

    function test_the_own_committee_frees_nobody_of_it() external {
        acknowledge(_first, 1);
        serve(without(five, _leaving), "second");
        pause(10_000);
        _behind(1);
    }

    function test_only_a_quorum_of_the_present_committee_says_so_once() external {
        (Members memory second,) = serve(without(five, _leaving), "second");
        VM.expectRevert(abi.encodeWithSelector(IQuorum.StaleEpoch.selector, 1, 2));
        book.acknowledge(acknowledgement(_first, 1, 7));
        VM.expectRevert(abi.encodeWithSelector(IQuorum.QuorumNotReached.selector, 2, 3));
        book.acknowledge(acknowledgement(second, 2, 3));
        Certificate memory other =
            second.certificate(bookDomain, block.chainid, address(book), 2, "proposal", "content", 7);
        VM.expectPartialRevert(IAcknowledgements.NotAnAcknowledgement.selector);
        book.acknowledge(other);
        VM.expectEmit(address(book));
        emit IAcknowledgements.MirrorsAcknowledged(2);
        acknowledge(second, 2);
        VM.expectRevert(abi.encodeWithSelector(IAcknowledgements.AlreadyAcknowledged.selector, 2));
        book.acknowledge(acknowledgement(second, 2, 14));
    }

    function test_who_never_served_waits_for_no_mirror() external {
        Candidate memory one = five[0];
        for (uint256 i = 1; book.candidate(one.account).servedUntil != 0; ++i) {
            one = five[i];
        }
        VM.prank(one.account);
        book.unbond();
        pause(10_000);
        withdraws(one);
    }

    function _withdrawsAfterTheDelay() private {
        uint256 at = block.timestamp + 10_000;
        expectRefusal(_leaving, abi.encodeWithSelector(IStakes.TooEarly.selector, block.timestamp, at));
        book.withdraw();
        pause(10_000);
        withdraws(_leaving);
        solvent();
    }

    function _behind(uint64 acknowledged) private {
        expectRefusal(_leaving, abi.encodeWithSelector(IStakes.MirrorsBehind.selector, _leaving.account, acknowledged));
        book.withdraw();
    }

    function _mirror() private returns (IQuorumMirror) {
        (Roster memory roster,) = book.roster(1);
        return IQuorumMirror(VM.deployCode("QuorumMirror.sol", abi.encode(block.chainid, book, uint64(1), roster)));
    }

    /// @dev To epoch 2, by the first committee's certificate.
    function _advance(IQuorumMirror mirror) private {
        (Roster memory next,) = book.roster(2);
        bytes32 digest = keccak256(abi.encode(uint64(2), next));
        bytes memory place = abi.encode(block.chainid, mirror, IQuorumMirror.advance.selector, 0, 1, digest);
        bytes32 leaf = keccak256(bytes.concat(keccak256(place)));
        Certificate memory certificate =
            _first.certificate(bookDomain, block.chainid, address(mirror), 1, "succession", leaf, 7);
        mirror.advance(2, next, Action(certificate, 0, 1, new bytes32[](0)));
    }
}
