// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {VotingKey} from "../../../contracts/interfaces/IQuorum.sol";
import {IStakes, Parameters} from "../../../contracts/interfaces/IStakes.sol";
import {Signature} from "../../../contracts/lib/Schnorr.sol";
import {Secp256k1} from "../../../contracts/lib/Secp256k1.sol";
import {Forcer} from "../solidity/Greedy.sol";
import {Candidate, FiveCandidates, Rules} from "./support/Elections.sol";
import {Members} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {VrfProver} from "./support/VrfProver.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Registration, stake and rewards: who may, what is bound, and what comes back.
contract StakesTest is FiveCandidates {
    function test_a_registration_binds_account_voter_and_key() external {
        for (uint256 i = 0; i < 5; ++i) {
            Candidate memory each = five[i];
            VM.assertEq(book.candidate(each.account).voter, voter(each));
            VM.assertEq(book.candidate(each.account).stake, 2 ether);
            VM.assertEq(book.candidate(each.account).good, 0);
            VM.assertEq(book.candidate(each.account).bad, 0);
            uint256[2] memory key = VrfProver.prove(each.vrf, 1).pk;
            VM.assertEq(book.candidate(each.account).vrfKey, keccak256(abi.encode(key)));
            VM.assertEq(book.registrantOf(voter(each)), each.account);
            trusts(each, 500_000);
        }
        VM.assertEq(book.totalStake(), 10 ether);
        solvent();
        VM.assertEq(book.candidate(person(9).account).voter, address(0));
    }

    function test_what_registration_refuses() external {
        Candidate memory newcomer = person(8);
        Candidate memory theirs = five[0];
        Signature memory agreed = consent(newcomer, bookDomain);
        VRF.Proof memory proof = VrfProver.prove(newcomer.vrf, book.possessionAlpha(newcomer.account));
        address own = voter(newcomer);
        VotingKey memory key = keyOf(newcomer);
        VM.deal(newcomer.account, 9 ether);

        expectRefusal(newcomer, abi.encodeWithSelector(IStakes.StakeTooLow.selector, 1 ether - 1, 1 ether));
        book.register{value: 1 ether - 1}(key, agreed, proof);
        bytes32 vrfKey = keccak256(abi.encode(proof.pk));
        expectRefusal(newcomer, _registered(newcomer.account, voter(theirs), vrfKey));
        book.register{value: 1 ether}(keyOf(theirs), agreed, proof);
        VRF.Proof memory other = VrfProver.prove(theirs.vrf, 1);
        expectRefusal(newcomer, _registered(newcomer.account, own, keccak256(abi.encode(other.pk))));
        book.register{value: 1 ether}(key, agreed, other);
        VM.deal(theirs.account, 1 ether);
        expectRefusal(theirs, _registered(theirs.account, own, vrfKey));
        book.register{value: 1 ether}(key, agreed, proof);

        address thief = person(9).account;
        VM.deal(thief, 1 ether);
        VM.prank(thief);
        VM.expectPartialRevert(IStakes.InvalidConsent.selector);
        book.register{value: 1 ether}(key, agreed, proof);
        VotingKey memory none;
        address nobody = Secp256k1.account(0, 0);
        expectRefusal(newcomer, abi.encodeWithSelector(IStakes.InvalidConsent.selector, newcomer.account, nobody));
        book.register{value: 1 ether}(none, agreed, proof);
        proof = VrfProver.prove(newcomer.vrf, book.possessionAlpha(thief));
        expectRefusal(newcomer, "Second mul check failed");
        book.register{value: 1 ether}(key, agreed, proof);
        proof = VrfProver.prove(newcomer.vrf, book.possessionAlpha(newcomer.account));
        VM.expectEmit(address(book));
        emit IStakes.Registered(newcomer.account, own, proof.pk[0], proof.pk[1], 1 ether);
        VM.prank(newcomer.account);
        book.register{value: 1 ether}(key, agreed, proof);
        solvent();
    }

    function test_stake_comes_back_after_the_delay() external {
        Candidate memory one = five[0];
        expectRefusal(one, abi.encodeWithSelector(IStakes.NotUnbonding.selector, one.account));
        book.withdraw();
        uint256 since = VM.getBlockTimestamp();
        VM.expectEmit(address(book));
        emit IStakes.Unbonding(one.account, since);
        VM.prank(one.account);
        book.unbond();
        expectRefusal(one, abi.encodeWithSelector(IStakes.IsUnbonding.selector, one.account));
        book.unbond();
        pause(9999);
        expectRefusal(one, abi.encodeWithSelector(IStakes.TooEarly.selector, since + 9999, since + 10_000));
        book.withdraw();
        pause(1);
        VM.expectEmit(address(book));
        emit IStakes.Withdrawn(one.account, 2 ether);
        withdraws(one);
        expectRefusal(one, abi.encodeWithSelector(IStakes.NothingToPay.selector, one.account));
        book.withdraw();
        expectRefusal(one, abi.encodeWithSelector(IStakes.StakeTooLow.selector, 1, 1 ether));
        book.deposit{value: 1}();
        VM.expectEmit(address(book));
        emit IStakes.Deposited(one.account, 1 ether, 1 ether);
        VM.prank(one.account);
        book.deposit{value: 1 ether}();
        VM.assertEq(book.candidate(one.account).unbondingSince, 0);
        solvent();
    }

    function test_who_serves_keeps_its_stake_in() external {
        (, Candidate[] memory serving) = serve(five, "first");
        Candidate memory leaving = serving[0];
        VM.prank(leaving.account);
        book.unbond();
        pause(10_000);
        expectRefusal(leaving, abi.encodeWithSelector(IStakes.Engaged.selector, leaving.account));
        book.withdraw();
        (Members memory next,) = serve(without(five, leaving), "second");
        acknowledge(next, 2);
        VM.prank(leaving.account);
        VM.expectPartialRevert(IStakes.TooEarly.selector);
        book.withdraw();
        pause(10_000);
        withdraws(leaving);
        solvent();
    }

    function testFuzz_an_unknown_account(address account) external {
        VM.assume(book.candidate(account).voter == address(0));
        Candidate memory stranger = Candidate(account, 0, 0, 0);
        bytes memory unknown = abi.encodeWithSelector(IStakes.UnknownCandidate.selector, account);
        expectRefusal(stranger, unknown);
        book.deposit();
        expectRefusal(stranger, unknown);
        book.unbond();
        expectRefusal(stranger, unknown);
        book.withdraw();
        expectRefusal(stranger, abi.encodeWithSelector(IStakes.NothingToPay.selector, account));
        book.claim();
    }

    function test_forced_ether_belongs_to_nobody() external {
        new Forcer{value: 1 ether}(payable(address(book)));
        VM.assertEq(address(book).balance, book.totalStake() + 1 ether);
        VM.assertEq(book.totalStake(), 10 ether);
    }

    function test_parameters_that_break_a_rule() external {
        Parameters memory rules = Rules.standard();
        rules.minStake = 0;
        _breaks(rules, "minStake is zero");
        rules = Rules.standard();
        rules.forfeit = 2 ether;
        _breaks(rules, "forfeit out of range");
        rules.forfeit = 0;
        _breaks(rules, "forfeit out of range");
        rules = Rules.standard();
        rules.minTrust = 500_001;
        _breaks(rules, "minTrust excludes newcomers");
        rules = Rules.standard();
        rules.minimum = 5;
        _breaks(rules, "minimum out of range");
        rules.minimum = 0;
        _breaks(rules, "minimum out of range");
        rules = Rules.standard();
        rules.seats = 101;
        _breaks(rules, "more than 100 seats");
        rules = Rules.standard();
        rules.maxCandidates = 3;
        _breaks(rules, "maxCandidates out of range");
        rules.maxCandidates = 257;
        _breaks(rules, "maxCandidates out of range");
        rules = Rules.standard();
        rules.reward = 11;
        _breaks(rules, "reward above a tenth");
        rules = Rules.standard();
        rules.attempts = 0;
        _breaks(rules, "attempts is zero");
    }

    function test_no_period_is_zero() external {
        Parameters memory rules = Rules.standard();
        rules.commitPeriod = 0;
        _breaks(rules, "a period is zero");
        (rules.commitPeriod, rules.revealPeriod) = (100, 0);
        _breaks(rules, "a period is zero");
        (rules.revealPeriod, rules.provePeriod) = (100, 0);
        _breaks(rules, "a period is zero");
        (rules.provePeriod, rules.confirmPeriod) = (100, 0);
        _breaks(rules, "a period is zero");
    }

    function test_a_verifier_without_code() external {
        _refusesCreation(address(9), Rules.standard(), "no VRF verifier");
    }

    /// @notice Finding: a stake above 96 bits was truncated.
    function test_a_stake_that_does_not_fit_is_refused() external {
        uint256 most = type(uint96).max;
        Candidate memory rich = person(8);
        Signature memory agreed = consent(rich, bookDomain);
        VRF.Proof memory proof = VrfProver.prove(rich.vrf, book.possessionAlpha(rich.account));
        VotingKey memory key = keyOf(rich);
        VM.deal(rich.account, 2 * most);
        expectRefusal(rich, abi.encodeWithSelector(IStakes.StakeTooHigh.selector, most + 1, most));
        book.register{value: most + 1}(key, agreed, proof);
        VM.prank(rich.account);
        book.register{value: most}(key, agreed, proof);
        expectRefusal(rich, abi.encodeWithSelector(IStakes.StakeTooHigh.selector, most + 1, most));
        book.deposit{value: 1}();
        VM.assertEq(book.candidate(rich.account).stake, most);
        solvent();
    }

    function _registered(address registrant, address named, bytes32 key) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IStakes.AlreadyRegistered.selector, registrant, named, key);
    }

    function _breaks(Parameters memory rules, string memory reason) private {
        _refusesCreation(address(book.vrf()), rules, reason);
    }

    function _refusesCreation(address verifier, Parameters memory rules, string memory reason) private {
        bytes memory code = bytes.concat(VM.getCode("Committee.sol"), abi.encode(verifier, rules, new address[](0)));
        VM.expectRevert(abi.encodeWithSelector(IStakes.InvalidParameters.selector, reason));
        assembly ("memory-safe") {
            pop(create(0, add(code, 0x20), mload(code)))
        }
    }
}
