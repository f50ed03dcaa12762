// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ICommittee} from "../../../../contracts/interfaces/ICommittee.sol";
import {Candidate, Parameters} from "../../../../contracts/interfaces/IStakes.sol";
import {IVrfVerifier} from "../../../../contracts/interfaces/IVrfVerifier.sol";
import {VM} from "../../forge/support/Vm.sol";
import {Checks} from "./Checks.sol";
import {Deploy, SVM} from "./Deploy.sol";
import {VRF} from "@chainlink/contracts/src/v0.8/vrf/VRF.sol";

/// @notice Accepts one proof, whichever it is, with any output.
contract AnyVrf is IVrfVerifier {
    /// @notice keccak256(abi.encode(proof, alpha)) of the proof that is good.
    bytes32 public good;
    uint256 private _output;

    function output(VRF.Proof calldata proof, uint256 alpha) external view override returns (uint256) {
        require(keccak256(abi.encode(proof, alpha)) == good, "not a proof");
        return _output;
    }
}

/// @notice The elected committee in any state, under any parameters.
abstract contract AnyCommittee is Checks {
    ICommittee internal constant COMMITTEE = ICommittee(address(0xA11));
    uint40 internal constant SERVING = type(uint40).max;
    uint256 private constant PARAMETERS = 8;
    uint256 private constant CANDIDATES = 10;
    uint256 private constant REWARDS = 11;
    AnyVrf internal vrf = new AnyVrf();

    function setUp() external {
        SVM.enableSymbolicStorage(address(vrf));
        Parameters memory rules = Parameters(1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0);
        address[] memory founders = new address[](1);
        founders[0] = address(0xA22);
        Deploy.inAnyState(address(COMMITTEE), "Committee", abi.encode(vrf, rules, founders));
        // Two seats, one at least: minStake 96, forfeit 96, minTrust 32, seats 16, minimum 16.
        uint256 first = SVM.createUint(224, "parameters") | (2 << 224) | (1 << 240);
        VM.store(address(COMMITTEE), bytes32(PARAMETERS), bytes32(first));
        VM.store(address(COMMITTEE), bytes32(PARAMETERS + 1), SVM.createBytes32("parameters"));
        VM.deal(address(COMMITTEE), SVM.createUint(128, "balance"));
    }

    /// @notice All that is stored of an account: eight words of the candidate, one of its reward.
    function stored(address account) internal view returns (bytes32[9] memory words) {
        uint256 place = uint256(keccak256(abi.encode(account, CANDIDATES)));
        unchecked {
            for (uint256 i = 0; i < 8; ++i) {
                words[i] = VM.load(address(COMMITTEE), bytes32(place + i));
            }
        }
        words[8] = VM.load(address(COMMITTEE), keccak256(abi.encode(account, REWARDS)));
    }

    /// @notice Takes the account's experiences: of its second word stake 96, good 32, bad 32.
    function newcomer(address account) internal {
        unchecked {
            bytes32 place = bytes32(uint256(keccak256(abi.encode(account, CANDIDATES))) + 1);
            bytes32 word = VM.load(address(COMMITTEE), place);
            VM.store(address(COMMITTEE), place, word & ~bytes32(uint256(type(uint64).max) << 96));
        }
    }

    /// @notice Whether nothing of an account has changed.
    function unchanged(address account, bytes32[9] memory before) internal view returns (bool) {
        bytes32[9] memory words = stored(account);
        bytes32 difference;
        for (uint256 i = 0; i < 9; ++i) {
            difference |= words[i] ^ before[i];
        }
        return difference == 0;
    }

    /// @notice balance - totalStake - totalRewards - burnt, modulo 2^256.
    function surplus() internal view returns (uint256) {
        unchecked {
            return address(COMMITTEE).balance - COMMITTEE.totalStake() - COMMITTEE.totalRewards() - COMMITTEE.burnt();
        }
    }

    /// @notice An account without code.
    function person(address account) internal view {
        VM.assume(account != address(COMMITTEE) && account != address(vrf) && account != address(this));
    }
}
