// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICertified} from "../../../../contracts/interfaces/ICertified.sol";
import {
    FiledRequest,
    IParticipantRegistry,
    RequestState
} from "../../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action, IQuorum} from "../../../../contracts/interfaces/IQuorum.sol";
import {RegistryScene} from "./RegistryScene.sol";
import {Log, VM} from "./Vm.sol";

/// @notice Requests that are filed, decided and worked on by participants who come and go, while blocks are appended
/// and time passes; each action is chosen by a number, and what it is refused with is known beforehand.
contract RequestHistories is RegistryScene {
    /// @dev What is known of a request.
    struct Known {
        bytes24 content;
        address by;
        uint32 height;
        uint64 duration;
        RequestState state;
        uint64 decided;
        uint8 place;
        uint256 parts;
    }

    uint160 private constant PEOPLE = 5;
    uint32 private constant SEATS = 4;
    uint64 private constant HELD = 7200;

    /// @notice How often an action went through, or an error was met.
    mapping(bytes32 outcome => uint256) public seen;

    /// @dev By number; the first is none's.
    Known[] private _known;
    mapping(address account => bool) private _joined;
    mapping(address account => bool) private _barred;
    mapping(address account => bool) private _seated;
    uint256 private _seatsTaken;
    mapping(address account => mapping(uint64 period => uint256)) private _handedIn;
    uint64 private _now = NOW;

    constructor() {
        deploy();
        VM.roll(_now);
        deployRegistry(SEATS, true);
        _known.push();
        _come(_person(0));
        _come(_person(1));
    }

    function fileSome(uint256 number) external {
        for (uint256 i = 0; i <= (number >> 32) % 3; ++i) {
            _file(_person(number), number);
        }
    }

    function decideSome(uint256 number) external {
        uint32 request = _any(number);
        bool admitted = (number >> 8) % 3 != 0;
        Action memory action = certifyDecision(request, admitted);
        bool waits = _known[request].state == RequestState.Filed;
        _expect(waits ? bytes4(0) : IParticipantRegistry.RequestNotWaiting.selector);
        registry.decide(request, admitted, action);
        if (!waits) return;
        _known[request].state = admitted ? RequestState.Admitted : RequestState.Dismissed;
        _known[request].decided = _now;
        ++seen[admitted ? bytes32("admit") : bytes32("dismiss")];
        _expect(IParticipantRegistry.RequestNotWaiting.selector);
        registry.decide(request, admitted, action);
    }

    /// @notice Another request, another answer, another content, or too few votes.
    function decideBadly(uint256 number) external {
        uint32 request = _any(number);
        bytes24 content = _known[request].content;
        uint256 kind = (number >> 8) % 4;
        bytes32 digest =
            keccak256(abi.encode(kind == 0 ? request + 1 : request, kind == 1 ? ~content : content, kind != 2));
        uint256 voters = kind == 3 ? members.enough() >> 1 : members.enough();
        Action memory action = certifyBy(address(registry), IParticipantRegistry.decide.selector, digest, voters);
        _expect(kind == 3 ? IQuorum.QuorumNotReached.selector : ICertified.NotCertified.selector);
        registry.decide(request, true, action);
    }

    function handInSome(uint256 number) external {
        _handIn(_person(number), _any(number >> 8));
    }

    /// @notice One hands in all that its budget allows, and one part more.
    function handInAll(uint256 number) external {
        if (number % 16 != 0) return;
        address by = _person(number >> 8);
        for (uint32 request = uint32(_known.length) - 1; request != 0; --request) {
            if (_absence(by) != 0 || !_isOpen(request)) continue;
            while (_handedIn[by][_now / HELD] < 1024) {
                _handIn(by, request);
            }
            _handIn(by, request);
            ++seen["budget"];
            return;
        }
    }

    function come(uint256 number) external {
        _come(_person(number));
    }

    function go(uint256 number) external {
        if (number % 2 == 0) return;
        address account = _person(number >> 8);
        _expect(_joined[account] ? bytes4(0) : IParticipantRegistry.NotJoined.selector);
        leave(account);
        _joined[account] = false;
    }

    /// @notice Bars a participant at times, or lifts that.
    function bar(uint256 number) external {
        address account = _person(number >> 8);
        bool barred = !_barred[account];
        if (barred && number % 4 != 0) return;
        setBarred(account, barred);
        (_barred[account], _joined[account]) = (barred, false);
        ++seen[barred ? bytes32("bar") : bytes32("readmit")];
    }

    function appendBlock(uint256) external {
        publish(1);
    }

    /// @notice Some blocks more, or to the last block, or the first one after it, of a deadline, of a place that is
    /// held, or of a period.
    function roll(uint256 number) external {
        Known memory one = _known[_any(number >> 8)];
        uint64 target = _now + 1 + uint64(number >> 16) % 10;
        if (number % 4 == 1 && one.state == RequestState.Admitted) target = one.decided + one.duration;
        else if (number % 4 == 2 && one.state == RequestState.Dismissed) target = one.decided + HELD;
        else if (number % 4 == 3) target = (_now / HELD + 1) * HELD - 1;
        target += uint64(number >> 24) % 2;
        if (target <= _now || target > _now + 2 * HELD) target = _now + 1;
        _now = target;
        VM.roll(_now);
        ++seen["roll"];
    }

    /// @notice A request is as it was filed, its state moves once, its deadline counts from its admission, no account
    /// holds more than four places, and none but admitted requests ever took a part.
    function check() external view {
        VM.assertEq(registry.requests(), _known.length - 1);
        for (uint32 request = 0; request <= _known.length; ++request) {
            Known memory known;
            if (request < _known.length) known = _known[request];
            FiledRequest memory found = registry.filed(request);
            bool admitted = known.state == RequestState.Admitted;
            VM.assertEq(found.content, known.content);
            VM.assertEq(found.by, known.by);
            VM.assertEq(found.height, known.height);
            VM.assertEq(found.blocks, known.duration);
            VM.assertTrue(found.state == known.state);
            VM.assertEq(found.deadline, admitted ? known.decided + known.duration : 0);
            VM.assertLe(found.height, live.height());
            VM.assertTrue(admitted || known.parts == 0);
        }
        for (uint160 i = 0; i < PEOPLE; ++i) {
            VM.assertLe(_placesOf(_person(i)), 4);
            VM.assertLe(_handedIn[_person(i)][_now / HELD], 1024);
        }
    }

    function _come(address account) private {
        bytes4 refusal = _barred[account]
            ? IParticipantRegistry.ParticipantIsBarred.selector
            : _joined[account]
                ? IParticipantRegistry.AlreadyJoined.selector
                : !_seated[account] && _seatsTaken == SEATS ? IParticipantRegistry.AllSeatsTaken.selector : bytes4(0);
        _expect(refusal);
        join(account);
        if (refusal != 0) return;
        if (!_seated[account]) ++_seatsTaken;
        (_joined[account], _seated[account]) = (true, true);
    }

    function _file(address by, uint256 number) private {
        bool badly = (number >> 8) % 8 == 0;
        uint64 duration = badly ? 1_000_001 : [uint64(1), 20, 7200, 1_000_000][(number >> 16) % 4];
        uint8 codec = (number >> 24) % 8 == 0 ? 0 : (number >> 24) % 2 == 0 ? RAW : DAG_PB;
        bytes32 digest = bytes32(number % 3);
        bytes4 refusal = _absence(by);
        if (refusal == 0 && codec == 0) refusal = IParticipantRegistry.UnknownCodec.selector;
        if (refusal == 0 && badly) refusal = IParticipantRegistry.InvalidDuration.selector;
        if (refusal == 0 && _placesOf(by) == 4) refusal = IParticipantRegistry.AllPlacesTaken.selector;
        _expect(refusal);
        uint32 given = file(by, digest, codec, duration);
        if (refusal != 0) return;
        VM.assertEq(given, _known.length);
        uint32 height = uint32(blocks.length - 1);
        bytes24 content = contentOf(by, digest, codec, duration, height);
        uint8 place = registry.filed(given).place;
        for (uint256 i = 1; i < _known.length; ++i) {
            if (_known[i].by != by || _known[i].place != place) continue;
            VM.assertFalse(_holds(_known[i]));
            ++seen["reuse"];
        }
        _known.push(Known(content, by, height, duration, RequestState.Filed, 0, place, 0));
        ++seen["file"];
    }

    /// @dev What the registry logs is counted.
    function _handIn(address by, uint32 request) private {
        uint256 parts = _handedIn[by][_now / HELD];
        bytes4 refusal = _absence(by);
        if (refusal == 0 && _known[request].state != RequestState.Admitted) {
            refusal = IParticipantRegistry.RequestNotAdmitted.selector;
        }
        if (refusal == 0 && !_isOpen(request)) refusal = IParticipantRegistry.RequestClosed.selector;
        if (refusal == 0 && parts == 1024) refusal = IParticipantRegistry.TooManyHandIns.selector;
        _expect(refusal);
        VM.recordLogs();
        handIn(by, request);
        Log[] memory logs = VM.getRecordedLogs();
        VM.assertEq(logs.length, refusal == 0 ? 1 : 0);
        for (uint256 i = 0; i < logs.length; ++i) {
            VM.assertEq(logs[i].topics[0], IParticipantRegistry.HandedIn.selector);
            ++_known[uint256(logs[i].topics[1])].parts;
            ++_handedIn[address(uint160(uint256(logs[i].topics[3])))][_now / HELD];
            ++seen["handIn"];
        }
    }

    /// @dev Why an account takes no part; 0 where it does.
    function _absence(address account) private view returns (bytes4) {
        if (_barred[account]) return IParticipantRegistry.ParticipantIsBarred.selector;
        return _joined[account] ? bytes4(0) : IParticipantRegistry.NotJoined.selector;
    }

    function _isOpen(uint32 request) private view returns (bool) {
        Known storage one = _known[request];
        return one.state == RequestState.Admitted && _now <= one.decided + one.duration;
    }

    /// @dev Places of an account's requests that are not decided, or were dismissed in the last 7,200 blocks.
    function _placesOf(address account) private view returns (uint256 places) {
        for (uint256 i = 1; i < _known.length; ++i) {
            if (_known[i].by == account && _holds(_known[i])) ++places;
        }
    }

    function _holds(Known storage one) private view returns (bool) {
        if (one.state == RequestState.Dismissed) return _now <= one.decided + HELD;
        return one.state == RequestState.Filed;
    }

    /// @dev Any request, or the number of none.
    function _any(uint256 number) private view returns (uint32) {
        return uint32(number % _known.length);
    }

    function _person(uint256 number) private pure returns (address) {
        return address(uint160(0xA11 + number % PEOPLE));
    }

    function _expect(bytes4 error_) private {
        if (error_ == 0) return;
        ++seen[error_];
        VM.expectPartialRevert(error_);
    }
}
