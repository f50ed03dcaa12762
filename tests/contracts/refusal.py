# SPDX-License-Identifier: Apache-2.0
"""Calls that must be refused, with the expected custom error."""

from __future__ import annotations

from typing import Any

from eth_abi import decode
from eth_utils import to_checksum_address

from blockful_py.crypto.keccak import selector
from tests.contracts.node import call

REQUIRE = {"type": "error", "name": "Error", "inputs": [{"type": "string"}]}


class NotRefusedError(AssertionError):
    """The call went through, or failed without a custom error."""


def refusal(
    contract: Any, method: str, *arguments: Any, sender: str | None = None, value: int = 0
) -> tuple[Any, ...]:
    """Returns (name, *parameters) of the custom error of a reverting call, by the contract or its quorum.

    A string given to `require` arrives as ("Error", string).  `method` is a name, with the types of its
    arguments if it is overloaded.  Raises NotRefusedError otherwise.
    """
    from brownie import AppointedCommittee, accounts, web3

    function = getattr(contract, method)
    request = {
        "from": sender or accounts[0].address,
        "to": contract.address,
        "data": function.encode_input(*arguments),
        "gas": hex(29_000_000),
        "value": hex(value),
    }
    answer: Any = call(web3.provider.endpoint_uri, "eth_call", request, "latest")
    return decoded((*contract.abi, *AppointedCommittee.abi, REQUIRE), _revert_data(answer))


def decoded(abi: Any, data: bytes) -> tuple[Any, ...]:
    """Returns (name, *parameters) of the custom error in revert data."""
    for item in abi:
        if item["type"] != "error":
            continue
        types = [each["type"] for each in item["inputs"]]
        if data[:4] == selector(f"{item['name']}({','.join(types)})"):
            values = decode(types, data[4:])
            return (item["name"], *(_plain(kind, value) for kind, value in zip(types, values, strict=True)))
    raise NotRefusedError(f"not refused with a custom error of the ABI: {data!r}")


def _revert_data(answer: Any) -> bytes:
    found = answer.get("error", {}).get("data", "0x")
    if isinstance(found, dict):
        found = found.get("result", found.get("data", "0x"))
    return bytes.fromhex(found[2:])


def _plain(kind: str, value: Any) -> Any:
    return to_checksum_address(value) if kind == "address" else value
