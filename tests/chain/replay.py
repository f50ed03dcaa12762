# SPDX-License-Identifier: Apache-2.0
"""Records the requests to one node and repeats them at another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from blockful_py.chain.interface import interface_of
from blockful_py.chain.node import Node
from blockful_py.chain.reverts import refusal
from blockful_py.chain.rpc import Request, Rpc, RpcError
from blockful_py.errors import ContractError

SECONDS = 600.0
SENT, CALLED = "eth_sendRawTransaction", "eth_call"
CLOCK = {"evm_increaseTime", "evm_mine"}
_COMMITTEE = interface_of("Committee")
TIMED_VIEWS = {_COMMITTEE.selector(name) for name in ("candidate", "election", "rewards")}
TIMED_EVENTS = {_COMMITTEE.topic(name) for name in ("PhaseStarted", "Unbonding")}
TIMED_ERRORS = {"TooEarly", "TooLate"}
"""Errors whose arguments are times of blocks, which differ between chains."""


class Recorder(Rpc):
    """Records calls, transactions and clock changes in order, with the answers."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self.noted: list[tuple[Request, Any]] = []

    @property
    def url(self) -> str:
        return self._rpc.url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        answers = self._rpc.batch(calls)
        noted = {SENT, CALLED, *CLOCK}
        self.noted += [pair for pair in zip(calls, answers, strict=True) if pair[0][0] in noted]
        return answers

    def close(self) -> None:
        self._rpc.close()


def replayed(asked: Iterable[tuple[Request, Any]], first: Rpc, other: Node) -> None:
    """Replays the requests to the node of `first` at `other`, and compares answers and receipts.

    A busy Anvil mines a transaction some time after taking it, in an unpredictable block, so it is told when
    to mine.
    """
    told = other.client.startswith("anvil")
    if told:
        other.rpc.call("evm_setAutomine", False)
    for (method, params), answer in asked:
        (found,) = other.rpc.batch([(method, params)])
        if method == SENT:
            assert found == answer
            if told:
                other.rpc.call("evm_mine")
            assert _receipt(other.rpc, found) == _receipt(first, answer)
        elif method == CALLED and bytes.fromhex(params[0]["data"][2:10]) not in TIMED_VIEWS:
            assert _result(found) == _result(answer)


def _result(answer: Any) -> Any:
    """The result of a call, or the decoded reason of its failure."""
    if not isinstance(answer, RpcError):
        return answer
    error = refusal(answer, interface_of("LiveChain"), "", "a call")
    assert isinstance(error, ContractError), answer
    return error.name, None if error.name in TIMED_ERRORS else error.arguments


def _receipt(rpc: Rpc, transaction: str) -> dict[str, Any]:
    """The fields of a receipt that describe the execution."""
    end = time.monotonic() + SECONDS
    while (receipt := rpc.call("eth_getTransactionReceipt", transaction)) is None:
        assert time.monotonic() < end, f"no receipt of {transaction}"
        time.sleep(0.01)
    created = receipt.get("contractAddress")
    return {
        "status": int(receipt["status"], 16),
        "gas": int(receipt["gasUsed"], 16),
        "created": created and created.lower(),
        "logs": [_log(log["address"].lower(), log["topics"], log["data"]) for log in receipt["logs"]],
    }


def _log(address: str, topics: list[str], data: str) -> tuple[str, list[str], str | None]:
    timed = bytes.fromhex(topics[0][2:]) in TIMED_EVENTS
    return address, topics, None if timed else data
