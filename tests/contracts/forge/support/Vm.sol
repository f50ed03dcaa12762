// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

struct Wallet {
    address addr;
    uint256 publicKeyX;
    uint256 publicKeyY;
    uint256 privateKey;
}

struct Log {
    bytes32[] topics;
    bytes data;
    address emitter;
}

/// @notice The cheat codes of Forge that the tests use.
interface Vm {
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function addr(uint256 secret) external pure returns (address);
    function createWallet(uint256 secret) external returns (Wallet memory);
    function signCompact(uint256 secret, bytes32 digest) external pure returns (bytes32 r, bytes32 vs);
    function sign(uint256 secret, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);

    function deal(address account, uint256 balance) external;
    function warp(uint256 timestamp) external;
    function roll(uint256 height) external;
    function getBlockTimestamp() external view returns (uint256);
    function prank(address sender) external;
    function etch(address account, bytes calldata code) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
    function store(address account, bytes32 slot, bytes32 value) external;
    function snapshotState() external returns (uint256);
    function revertToState(uint256 snapshot) external returns (bool);

    function deployCode(string calldata artifact) external returns (address);
    function deployCode(string calldata artifact, bytes calldata arguments) external returns (address);
    function getDeployedCode(string calldata artifact) external view returns (bytes memory);
    function getCode(string calldata artifact) external view returns (bytes memory);

    function expectRevert() external;
    function expectRevert(bytes calldata data) external;
    function expectRevert(bytes calldata data, address reverter) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit(address emitter) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);

    function assume(bool condition) external pure;

    function readFile(string calldata path) external view returns (string memory);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function toString(uint256 value) external pure returns (string memory);

    function assertTrue(bool condition) external pure;
    function assertTrue(bool condition, string calldata why) external pure;
    function assertFalse(bool condition) external pure;
    function assertFalse(bool condition, string calldata why) external pure;
    function assertEq(bool left, bool right) external pure;
    function assertEq(uint256 left, uint256 right) external pure;
    function assertEq(uint256 left, uint256 right, string calldata why) external pure;
    function assertEq(address left, address right) external pure;
    function assertEq(bytes32 left, bytes32 right) external pure;
    function assertEq(bytes32 left, bytes32 right, string calldata why) external pure;
    function assertEq(bytes calldata left, bytes calldata right) external pure;
    function assertEq(bytes calldata left, bytes calldata right, string calldata why) external pure;
    function assertEq(string calldata left, string calldata right) external pure;
    function assertEq(uint256[] calldata left, uint256[] calldata right) external pure;
    function assertEq(address[] calldata left, address[] calldata right) external pure;
    function assertEq(bytes32[] calldata left, bytes32[] calldata right) external pure;
    function assertNotEq(bytes32 left, bytes32 right) external pure;
    function assertNotEq(uint256 left, uint256 right) external pure;
    function assertLe(uint256 left, uint256 right) external pure;
    function assertLt(uint256 left, uint256 right) external pure;
    function assertGe(uint256 left, uint256 right) external pure;
    function assertGe(uint256 left, uint256 right, string calldata why) external pure;
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
