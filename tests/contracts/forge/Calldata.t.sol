// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IArchiveRegistry, Record} from "../../../contracts/interfaces/IArchiveRegistry.sol";
import {ICertified} from "../../../contracts/interfaces/ICertified.sol";
import {HeaderUpdate, ILiveChain, NewBlock, Update} from "../../../contracts/interfaces/ILiveChain.sol";
import {IParticipantRegistry} from "../../../contracts/interfaces/IParticipantRegistry.sol";
import {Action, Roster} from "../../../contracts/interfaces/IQuorum.sol";
import {IQuorumMirror} from "../../../contracts/interfaces/IQuorumMirror.sol";
import {IReaderRegistry} from "../../../contracts/interfaces/IReaderRegistry.sol";
import {Membership} from "./support/Members.sol";
import {VM} from "./support/Vm.sol";
import {World} from "./support/World.sol";

/// @notice A certified call has one encoding: with gaps in it, or bytes behind it, it is refused.
contract CalldataTest is World {
    uint256 private constant WORD = 32;

    function setUp() external {
        deploy();
        publish(2);
    }

    function test_gaps_in_an_append() external {
        NewBlock memory made = newBlock(2);
        bytes memory call = abi.encodeCall(ILiveChain.append, (made, certifyBlock(made)));
        _refusedWithGaps(address(live), call, 2);
    }

    function test_gaps_in_a_redaction() external {
        (Update[] memory updates, HeaderUpdate[] memory headers) = redaction(list(at(1, 0), at(1, 1)));
        Action memory action = certifyRedaction(updates, headers);
        _refusedWithGaps(address(live), abi.encodeCall(ILiveChain.redact, (updates, headers, action)), 3);
    }

    function test_gaps_in_records() external {
        Record[] memory records = new Record[](2);
        records[0] = Record(at(1, 0), 0, 0, RAW, bytes32(uint256(1)));
        records[1] = Record(at(1, 1), 0, 0, RAW, bytes32(uint256(2)));
        bytes32 head = archive.head();
        Action memory action = certifyRecords(head, TIME, records);
        _refusedWithGaps(address(archive), abi.encodeCall(IArchiveRegistry.append, (head, TIME, records, action)), 4);
    }

    function test_gaps_in_a_new_auditor() external {
        bytes32 digest = keccak256(abi.encode(address(1), uint256(0), uint256(0)));
        Action memory action = certify(address(archive), IArchiveRegistry.setAuditor.selector, digest);
        _refusedWithGaps(address(archive), abi.encodeCall(IArchiveRegistry.setAuditor, (address(1), 0, 0, action)), 4);
    }

    function test_gaps_in_a_new_epoch_of_the_mirror() external {
        Roster memory next = Membership.draw(4, "second").roster();
        Action memory action = certifyRoster(2, next);
        _refusedWithGaps(address(mirror), abi.encodeCall(IQuorumMirror.advance, (2, next, action)), 3);
    }

    function test_gaps_in_a_barred_reader() external {
        IReaderRegistry readers = IReaderRegistry(VM.deployCode("ReaderRegistry.sol", abi.encode(committee, live)));
        bytes32 digest = keccak256(abi.encode(address(1), true));
        Action memory action = certify(address(readers), IReaderRegistry.setBarred.selector, digest);
        _refusedWithGaps(address(readers), abi.encodeCall(IReaderRegistry.setBarred, (address(1), true, action)), 3);
    }

    function test_gaps_in_a_barred_participant() external {
        address registry = _participants();
        Action memory action =
            certify(registry, IParticipantRegistry.setBarred.selector, keccak256(abi.encode(address(1), true)));
        _refusedWithGaps(registry, abi.encodeCall(IParticipantRegistry.setBarred, (address(1), true, action)), 3);
    }

    function test_gaps_in_an_admission() external {
        address registry = _participants();
        Action memory action = certify(registry, IParticipantRegistry.admit.selector, keccak256(abi.encode(address(1))));
        _refusedWithGaps(registry, abi.encodeCall(IParticipantRegistry.admit, (address(1), action)), 2);
    }

    function test_gaps_in_another_federation_file() external {
        address registry = _participants();
        bytes32 digest = keccak256("file");
        Action memory action =
            certify(registry, IParticipantRegistry.changeFile.selector, keccak256(abi.encode(digest)));
        _refusedWithGaps(registry, abi.encodeCall(IParticipantRegistry.changeFile, (digest, action)), 2);
    }

    function test_gaps_in_a_decision_on_a_request() external {
        IParticipantRegistry registry = IParticipantRegistry(_participants());
        registry.join();
        uint32 number = registry.file(bytes32(uint256(1)), RAW, 5);
        bytes32 digest = keccak256(abi.encode(number, registry.filed(number).content, true));
        Action memory action = certify(address(registry), IParticipantRegistry.decide.selector, digest);
        _refusedWithGaps(address(registry), abi.encodeCall(IParticipantRegistry.decide, (number, true, action)), 3);
    }

    function _participants() private returns (address) {
        return VM.deployCode("ParticipantRegistry.sol", abi.encode(committee, live, uint32(2), true));
    }

    /// @dev A word behind the call; a word before what an argument's place in the head points to, for the last
    /// argument (the action), and for the first one that is pointed to. At last the call as it is.
    function _refusedWithGaps(address target, bytes memory call, uint256 arguments) private {
        _refused(target, bytes.concat(call, bytes32(0)));
        _refused(target, bytes.concat(call, hex"00"));
        bool first = true;
        for (uint256 i = 0; i < arguments; ++i) {
            uint256 place = _word(call, 4 + WORD * i);
            bool points = place >= WORD * arguments && place < call.length - 4 && place % WORD == 0;
            if (!points || !(first || i + 1 == arguments)) continue;
            first = false;
            _refused(target, _withGap(call, arguments, place));
        }
        (bool done,) = target.call(call);
        VM.assertTrue(done);
    }

    function _refused(address target, bytes memory call) private {
        (bool done, bytes memory answer) = target.call(call);
        VM.assertFalse(done);
        // A gap behind a block is part of what its digest is taken over.
        bytes4 error_ = bytes4(answer);
        VM.assertTrue(error_ == ICertified.CalldataNotCanonical.selector || error_ == ICertified.NotCertified.selector);
    }

    /// @dev A word of zeros at `place` behind the selector; what the head points to from there on moves by it.
    function _withGap(bytes memory call, uint256 arguments, uint256 place) private pure returns (bytes memory wide) {
        wide = new bytes(call.length + WORD);
        for (uint256 i = 0; i < call.length; ++i) {
            wide[i < 4 + place ? i : i + WORD] = call[i];
        }
        for (uint256 i = 0; i < arguments; ++i) {
            uint256 at = 4 + WORD * i;
            uint256 pointed = _word(call, at);
            if (pointed < place || pointed >= call.length || pointed % WORD != 0) continue;
            assembly ("memory-safe") {
                mstore(add(add(wide, 0x20), at), add(pointed, WORD))
            }
        }
    }

    function _word(bytes memory data, uint256 at) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(data, 0x20), at))
        }
    }
}
