# SPDX-License-Identifier: Apache-2.0
"""Encodes and decodes calls, results, events and custom errors by a contract's ABI.

Python values are as in `eth_abi`, except that addresses are 20 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError

from blockful_py.crypto.keccak import keccak, selector
from blockful_py.errors import ContractError, NodeError, ToolchainError

NAMES = (
    "AlarmRegistry",
    "AppointedCommittee",
    "ArchiveRegistry",
    "Committee",
    "LiveChain",
    "ParticipantRegistry",
    "QuorumMirror",
    "ReaderRegistry",
    "VrfVerifier",
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """ABI, creation bytecode and compiler of one contract."""

    name: str
    abi: tuple[Mapping[str, Any], ...] = field(repr=False)
    bytecode: bytes = field(repr=False)
    compiler: Mapping[str, Any] = field(repr=False)


@cache
def load_artifact(name: str) -> Artifact:
    """Reads `artifacts/<name>.json`.  Raises ToolchainError if it is missing or unreadable."""
    file = resources.files("blockful_py.chain") / "artifacts" / f"{name}.json"
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        return Artifact(
            value["name"], tuple(value["abi"]), bytes.fromhex(value["bytecode"][2:]), value["compiler"]
        )
    except (OSError, ValueError, KeyError) as error:
        raise ToolchainError(
            f"the compiled contract {name} is missing or damaged: run `make contracts`."
        ) from error


Entry = Mapping[str, Any]

PANICS = {
    0x01: "assertion failed",
    0x11: "arithmetic overflow",
    0x12: "division by zero",
    0x21: "value out of an enum's range",
    0x31: "pop of an empty array",
    0x32: "index out of bounds",
    0x41: "out of memory",
    0x51: "call of an uninitialised function",
}
_ERROR = selector("Error(string)")
_PANIC = selector("Panic(uint256)")


class Interface:
    """The ABI of one contract, plus the errors of all contracts."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        entries = artifact.abi
        self._functions = {entry["name"]: entry for entry in entries if entry["type"] == "function"}
        self._events = {
            keccak(_signature(entry).encode()): entry for entry in entries if entry["type"] == "event"
        }
        self._constructor = next((entry for entry in entries if entry["type"] == "constructor"), None)
        others = [entry for name in NAMES if name != artifact.name for entry in load_artifact(name).abi]
        self._errors = {
            selector(_signature(entry)): entry for entry in (*others, *entries) if entry["type"] == "error"
        }

    @property
    def name(self) -> str:
        return self.artifact.name

    def selector(self, function: str) -> bytes:
        """First 4 bytes of a call of `function`."""
        return selector(_signature(self._functions[function]))

    def encode(self, function: str, *arguments: Any) -> bytes:
        """Data of a call."""
        entry = self._functions[function]
        return selector(_signature(entry)) + encode(_types(entry["inputs"]), arguments)

    def called(self, data: bytes) -> tuple[str, tuple[Any, ...]]:
        """Function and arguments of call data from `encode`, structs as tuples."""
        entry = next(each for each in self._functions.values() if selector(_signature(each)) == data[:4])
        return entry["name"], tuple(decode(_types(entry["inputs"]), data[4:]))

    def creation(self, *arguments: Any) -> bytes:
        """Data of the transaction that deploys the contract."""
        types = _types(self._constructor["inputs"]) if self._constructor else []
        return self.artifact.bytecode + encode(types, arguments)

    def decode(self, function: str, data: bytes) -> Any:
        """The return value of a call, or a tuple of several.

        Raises NodeError if the data is not a return value of this function.
        """
        outputs = self._functions[function]["outputs"]
        try:
            values = decode(_types(outputs), data)
        except DecodingError as error:
            raise NodeError(
                f"{self.name}.{function} returned {len(data)} bytes that do not decode: "
                "another contract is at this address, or the node is at fault."
            ) from error
        converted = tuple(_value(output, value) for output, value in zip(outputs, values, strict=True))
        return converted[0] if len(converted) == 1 else converted

    def event(self, log: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Name and arguments of a JSON-RPC log; None if it is not of this contract."""
        topics = [bytes.fromhex(topic[2:]) for topic in log["topics"]]
        entry = self._events.get(topics[0]) if topics else None
        if entry is None:
            return None
        indexed = [item for item in entry["inputs"] if item["indexed"]]
        plain = [item for item in entry["inputs"] if not item["indexed"]]
        named = {
            item["name"]: _value(item, decode([_type(item)], topic)[0])
            for item, topic in zip(indexed, topics[1:], strict=True)
        }
        values = decode(_types(plain), bytes.fromhex(log["data"][2:]))
        named |= {item["name"]: _named(item, value) for item, value in zip(plain, values, strict=True)}
        return entry["name"], {item["name"]: named[item["name"]] for item in entry["inputs"]}

    def topic(self, event: str) -> bytes:
        """First topic of the logs of `event`."""
        return next(topic for topic, entry in self._events.items() if entry["name"] == event)

    def error(self, data: bytes) -> ContractError:
        """The error in revert data: a custom error, Panic, Error(string) or a bare revert."""
        head, body = data[:4], data[4:]
        try:
            if head == _ERROR:
                return ContractError(self.name, "Error", {"message": decode(["string"], body)[0]})
            if head == _PANIC:
                code = decode(["uint256"], body)[0]
                return ContractError(
                    self.name, "Panic", {"code": code, "meaning": PANICS.get(code, "unknown")}
                )
            if entry := self._errors.get(head):
                values = decode(_types(entry["inputs"]), body)
                arguments = {
                    item["name"]: _named(item, value)
                    for item, value in zip(entry["inputs"], values, strict=True)
                }
                return ContractError(self.name, entry["name"], arguments)
        except (DecodingError, UnicodeDecodeError):
            return ContractError(self.name, "UndecodableError", {"data": data})
        if data:
            return ContractError(self.name, "UnknownError", {"data": data})
        return ContractError(self.name, "Reverted", {})


@cache
def interface_of(name: str) -> Interface:
    """The interface of a contract that ships with the package."""
    return Interface(load_artifact(name))


def _type(item: Entry) -> str:
    kind: str = item["type"]
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(map(_type, item['components']))}){kind.removeprefix('tuple')}"


def _types(items: Sequence[Entry]) -> list[str]:
    return [_type(item) for item in items]


def _signature(entry: Entry) -> str:
    return f"{entry['name']}({','.join(_types(entry['inputs']))})"


def _value(item: Entry, value: Any) -> Any:
    """A decoded value with structs as tuples and addresses as bytes."""
    if item["type"].endswith("]"):
        return tuple(_value(_item_of(item), each) for each in value)
    if item["type"] == "tuple":
        return tuple(_value(part, each) for part, each in zip(item["components"], value, strict=True))
    return bytes.fromhex(value[2:]) if item["type"] == "address" else value


def _named(item: Entry, value: Any) -> Any:
    """Like `_value`, with structs as dicts."""
    if item["type"].endswith("]"):
        return tuple(_named(_item_of(item), each) for each in value)
    if item["type"] == "tuple":
        pairs = zip(item["components"], value, strict=True)
        return {part["name"]: _named(part, each) for part, each in pairs}
    return _value(item, value)


def _item_of(item: Entry) -> Entry:
    return {**item, "type": item["type"][: item["type"].rindex("[")]}
