// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAcknowledgements} from "../../../../contracts/interfaces/IAcknowledgements.sol";
import {Election, IElection, Phase} from "../../../../contracts/interfaces/IElection.sol";
import {Action, Certificate, Roster} from "../../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../../contracts/interfaces/IQuorumMirror.sol";
import {Candidate as ChainCandidate, IStakes, Parameters, Stage} from "../../../../contracts/interfaces/IStakes.sol";
import {Candidate, Elections, Rules} from "./Elections.sol";
import {HashVrf} from "./HashVrf.sol";
import {EXECUTOR, Members, Membership} from "./Members.sol";
import {VM} from "./Vm.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice What six candidates may do at any time, each action chosen by a number. The contract may refuse it: what
/// is refused with what is compared with a model elsewhere (test_committee_states.py); here is what must hold.
contract CommitteeHistories is Elections {
    uint256 private constant PEOPLE = 6;
    uint40 private constant SERVING = type(uint40).max;

    /// @notice How often an action went through.
    mapping(bytes32 action => uint256) public seen;

    Parameters private _rules;
    HashVrf private immutable _vrf = new HashVrf();
    /// @dev Ether that went into the contract, and that came out of it.
    uint256 private _paid;
    uint256 private _received;
    uint256 private _burnt;
    uint64 private _epoch;
    mapping(uint64 epoch => bytes32 roster) private _rosters;
    mapping(uint64 epoch => Members) private _members;
    /// @dev Follows the committee, at times late.
    IQuorumMirror private _mirror;
    /// @dev The last epoch that an account was a member of.
    mapping(address account => uint64) private _served;

    constructor() {
        _rules = Rules.standard();
        (_rules.maxCandidates, _rules.minTrust, _rules.withholding) = (4, 340_000, 1);
        book = Rules.deploy(address(_vrf), _rules, new address[](0));
        bookDomain = Membership.domainOf(block.chainid, address(book));
        for (uint256 i = 0; i < PEOPLE - 1; ++i) {
            register(person(i), 2 ether + i * 0.25 ether);
            _paid += 2 ether + i * 0.25 ether;
        }
        candidateOf[voter(person(PEOPLE - 1))] = person(PEOPLE - 1);
        elect(type(uint256).max);
    }

    function deposit(uint256 number) external {
        uint256 value = [1 ether, 1 ether, 0.25 ether, 1][(number >> 8) % 4];
        _act(number, "deposit", abi.encodeCall(IStakes.deposit, ()), value);
    }

    function unbond(uint256 number) external {
        if (number % 4 == 0) _act(number >> 8, "unbond", abi.encodeCall(IStakes.unbond, ()), 0);
    }

    /// @notice A member asks for its stake, others are elected in its place, and it leaves with the mirror behind or not.
    function retire(uint256 number) external {
        Members memory members = _members[_epoch];
        address account = book.registrantOf(members.addressOf(number % members.secrets.length));
        _actAs(account, "unbond", abi.encodeCall(IStakes.unbond, ()), 0);
        elect(number >> 8);
        leave(number >> 16);
    }

    /// @notice One asks for its stake, and all try to take theirs, sometimes too early or before the mirror has followed.
    function leave(uint256 number) public {
        for (uint256 i = 0; i < (number >> 16) % 4; ++i) {
            follow(number);
            acknowledge((1 << 128) | 1);
        }
        _act(number >> 8, "unbond", abi.encodeCall(IStakes.unbond, ()), 0);
        if (number % 4 != 0) pause(_rules.unbondingDelay);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            _act(i, "withdraw", abi.encodeCall(IStakes.withdraw, ()), 0);
        }
    }

    function claim(uint256 number) external {
        if (number % 2 == 0) pause(_rules.unbondingDelay);
        _act(number, "claim", abi.encodeCall(IStakes.claim, ()), 0);
    }

    function proceed(uint256 number) external {
        if (number % 2 == 0) pause(PERIOD);
        _act(number >> 8, "proceed", abi.encodeCall(IElection.proceed, ()), 0);
    }

    /// @notice Opens an election and lets most enter it.
    function openAndCommit(uint256 number) public {
        if (phase() == Phase.Idle) pause(_rules.epochLength);
        _act(0, "open", abi.encodeCall(IElection.openElection, ()), 0);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            if (_skips(number, i)) continue;
            _act(i, "commit", abi.encodeCall(IElection.commit, (commitment(person(i)))), 0);
        }
    }

    /// @notice A whole election, in which few are missing.
    function elect(uint256 number) public {
        openAndCommit(number | (7 << 32));
        revealMost(number >> 64);
        proveMost(number >> 96);
        confirmMost(number >> 128);
    }

    function revealMost(uint256 number) public {
        if (phase() == Phase.Commit) _expire();
        for (uint256 i = 0; i < PEOPLE; ++i) {
            if (number % 4 == 0 && _skips(number, i)) continue;
            _act(i, "reveal", abi.encodeCall(IElection.reveal, (person(i).secret)), 0);
        }
        _expire();
    }

    function proveMost(uint256 number) public {
        if (phase() != Phase.Prove) return;
        uint256 alpha = book.alpha();
        for (uint256 i = 0; i < PEOPLE; ++i) {
            if (_skips(number, i)) continue;
            _act(i, "prove", abi.encodeCall(IElection.prove, (proofOf(person(i), alpha))), 0);
        }
        _expire();
    }

    /// @notice Most elected members confirm a key, some of them another one.
    function confirmMost(uint256 number) public {
        if (phase() != Phase.Confirm) return;
        Members[2] memory keys = [membersOf(elected(), "one"), membersOf(elected(), "other")];
        Candidate[] memory serving = elected();
        for (uint256 i = 0; i < serving.length; ++i) {
            if (_skips(number, i)) continue;
            Members memory key = keys[number % 4 == 0 ? (number >> (16 + i)) % 2 : 0];
            bytes memory call = abi.encodeCall(IElection.confirmKey, (key.keyX, key.keyY, uint32(key.quorum())));
            _actAs(serving[i].account, "confirm", call, 0);
            if (book.currentEpoch() != _epoch) {
                _begin(key);
                return;
            }
        }
    }

    /// @notice Reports a certificate of the current epoch or of the one before.
    function reportVotes(uint256 number) external {
        uint64 epoch = _epochOf(number);
        Members memory members = _members[epoch];
        uint256 voters = (number >> 16) % (1 << members.secrets.length);
        bytes32 proposal = bytes32((number >> 8) % 3);
        bytes memory call = abi.encodeCall(
            book.report, (members.certificate(bookDomain, epoch, proposal, "content", voters), block.chainid, EXECUTOR)
        );
        if (!_act(number, "report", call, 0)) return;
        VM.assertEq(epoch, _epoch);
        _enough(members, voters);
    }

    /// @notice The mirror takes its next step, by the certificate of the committee that it stands at.
    function follow(uint256) public {
        uint64 at = address(_mirror) == address(0) ? _epoch : _mirror.currentEpoch();
        if (at == _epoch) return;
        (Roster memory next,) = book.roster(at + 1);
        bytes32 digest = keccak256(abi.encode(at + 1, next));
        bytes memory place = abi.encode(block.chainid, _mirror, IQuorumMirror.advance.selector, 0, 1, digest);
        bytes32 leaf = keccak256(bytes.concat(keccak256(place)));
        Members memory members = _members[at];
        Certificate memory certificate =
            members.certificate(bookDomain, block.chainid, address(_mirror), at, leaf, leaf, members.enough());
        _mirror.advance(at + 1, next, Action(certificate, 0, 1, new bytes32[](0)));
        ++seen["follow"];
    }

    /// @notice Members of the current epoch that see the mirror there say so; those of the one before come too late.
    function acknowledge(uint256 number) public {
        if (address(_mirror) == address(0) || _mirror.currentEpoch() != _epoch) return;
        uint64 epoch = _epochOf(number);
        Members memory members = _members[epoch];
        uint256 voters = number % 4 == 0 ? members.enough() : (1 << members.secrets.length) - 1;
        Certificate memory certificate = acknowledgement(members, epoch, voters);
        if (!_act(number, "acknowledge", abi.encodeCall(IAcknowledgements.acknowledge, (certificate)), 0)) return;
        VM.assertEq(epoch, _epoch);
        _enough(members, voters);
    }

    /// @notice Convicts a member of the current epoch or of the one before.
    function convict(uint256 number) external {
        uint64 epoch = _epochOf(number);
        Members memory members = _members[epoch];
        if (members.secrets.length == 0 || number % 16 != 0) return;
        uint256 index = (number >> 8) % members.secrets.length;
        _act(number >> 16, "slash", abi.encodeCall(book.slash, (equivocation(members, bookDomain, epoch, index))), 0);
    }

    /// @notice Nobody was paid what is not its own, nobody who may not serve does, and no slashed member counts.
    function check() external {
        _checkStakes();
        _checkEpochs();
        _checkElection();
    }

    /// @dev Stake that came in is staked, promised as a reward, burnt or paid out.
    function _checkStakes() private {
        uint256 sum = 0;
        for (uint256 i = 0; i < PEOPLE; ++i) {
            ChainCandidate memory each = book.candidate(person(i).account);
            sum += each.stake;
            VM.assertLe(each.good + each.bad, 100);
            VM.assertEq(
                book.trust(person(i).account), 1_000_000 * (uint256(each.good) + 1) / (each.good + each.bad + 2)
            );
            if (each.slashed) VM.assertEq(each.stake, 0);
        }
        VM.assertEq(sum, book.totalStake());
        VM.assertEq(address(book).balance, _paid - _received);
        solvent();
        VM.assertGe(book.burnt(), _burnt);
        _burnt = book.burnt();
    }

    /// @dev Without the slashed, the votes of a certificate that counted are a quorum.
    function _enough(Members memory members, uint256 voters) private view {
        uint256 votes = 0;
        for (uint256 i = 0; i < members.secrets.length; ++i) {
            bool slashed = book.candidate(book.registrantOf(members.addressOf(i))).slashed;
            if ((voters >> i) & 1 != 0 && !slashed) ++votes;
        }
        VM.assertGe(votes, members.quorum());
    }

    /// @dev Epochs follow one by one, past rosters stay, and exactly the members of the current one serve.
    function _checkEpochs() private view {
        VM.assertEq(book.currentEpoch(), _epoch);
        for (uint64 epoch = 1; epoch <= _epoch; ++epoch) {
            (Roster memory roster, uint256 quorum) = book.roster(epoch);
            VM.assertEq(keccak256(abi.encode(roster)), _rosters[epoch]);
            VM.assertEq(quorum, (2 * roster.members.length + 2) / 3);
            VM.assertGe(roster.members.length, _rules.minimum);
        }
        Members memory serving = _members[_epoch];
        for (uint256 i = 0; i < PEOPLE; ++i) {
            bool serves = false;
            for (uint256 j = 0; j < serving.secrets.length; ++j) {
                serves = serves || serving.secrets[j] == person(i).voting;
            }
            VM.assertEq(book.candidate(person(i).account).servedUntil == SERVING, serves);
        }
        for (uint256 i = 0; i < serving.secrets.length; ++i) {
            bool slashed = book.candidate(book.registrantOf(serving.addressOf(i))).slashed;
            if (slashed) VM.assertTrue((book.excluded() >> i) & 1 != 0);
        }
        if (address(_mirror) != address(0)) VM.assertLe(_mirror.currentEpoch(), _epoch);
    }

    /// @dev Who is in a draw does not unbond; who is elected has stake and trust and was not slashed.
    function _checkElection() private view {
        Election memory election = book.election();
        if (election.phase == Phase.Idle) return;
        VM.assertEq(election.epoch, _epoch + 1);
        VM.assertLe(election.committed, _rules.maxCandidates);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            ChainCandidate memory each = book.candidate(person(i).account);
            if (each.draw != election.draw) continue;
            bool chosen = election.phase == Phase.Confirm && each.stage == Stage.Elected;
            if (chosen || election.phase != Phase.Confirm) VM.assertEq(each.unbondingSince, 0);
            if (!chosen) continue;
            VM.assertFalse(each.slashed);
            VM.assertGe(each.stake, _rules.minStake);
            VM.assertGe(book.trust(person(i).account), _rules.minTrust);
        }
    }

    function proofOf(Candidate memory each, uint256 alpha) internal view override returns (VRF.Proof memory) {
        return _vrf.prove(each.vrf, alpha);
    }

    function _begin(Members memory members) private {
        ++_epoch;
        (Roster memory roster,) = book.roster(_epoch);
        _rosters[_epoch] = keccak256(abi.encode(roster));
        VM.assertEq(abi.encode(roster.members), abi.encode(members.keys()));
        _members[_epoch] = members;
        for (uint256 i = 0; i < members.secrets.length; ++i) {
            _served[book.registrantOf(members.addressOf(i))] = _epoch;
        }
        if (_epoch == 1) {
            bytes memory arguments = abi.encode(block.chainid, book, _epoch, roster);
            _mirror = IQuorumMirror(VM.deployCode("QuorumMirror.sol", arguments));
        }
        ++seen["epoch"];
    }

    function _expire() private {
        pause(PERIOD);
        _act(0, "proceed", abi.encodeCall(IElection.proceed, ()), 0);
    }

    function _act(uint256 number, bytes32 action, bytes memory call, uint256 value) private returns (bool) {
        return _actAs(person(number % PEOPLE).account, action, call, value);
    }

    function _actAs(address account, bytes32 action, bytes memory call, uint256 value) private returns (bool done) {
        VM.deal(account, value);
        VM.prank(account);
        (done,) = address(book).call{value: value}(call);
        if (!done) {
            ++seen["refused"];
            return false;
        }
        _paid += value;
        _received += account.balance;
        ++seen[action];
        if (action == "withdraw" && _served[account] != 0) {
            VM.assertLt(_served[account], _mirror.currentEpoch());
            ++seen["retire"];
        }
    }

    function _epochOf(uint256 number) private view returns (uint64) {
        return (number >> 128) % 4 == 0 && _epoch > 1 ? _epoch - 1 : _epoch;
    }

    /// @dev One in eight stays out.
    function _skips(uint256 number, uint256 index) private pure returns (bool) {
        return (number >> (32 + 3 * index)) % 8 == 0;
    }
}
