# SPDX-License-Identifier: Apache-2.0
"""Signs transactions locally, sends them in batches and waits for their receipts."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockful_py.chain.calls import Call, to_receipt
from blockful_py.chain.gas import ESTIMATE_MARGIN, access_list, fees, intrinsic_gas
from blockful_py.chain.interface import Interface
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.reverts import refusal
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.signer import Signer
from blockful_py.chain.turn import turn
from blockful_py.errors import ChainError, ContractError, NodeError
from blockful_py.types import Receipt

_POLL_FIRST, _POLL_LAST = 0.01, 0.5  # seconds
_WAKE_AFTER = 3.0  # seconds
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Signed:
    raw: bytes
    hash: bytes


class Sender:
    """One account on one node.  Calls wait for one another, so nonces never overlap."""

    def __init__(
        self, node: Node, signer: Signer, *, gas_limit: int | None = None, deadline: float = 120.0
    ) -> None:
        """`gas_limit`: default for transactions without one; None estimates it.

        `deadline`: seconds to wait for a transaction to be mined.
        """
        self.node = node
        self._signer = signer
        self._gas_limit = gas_limit
        self._deadline = deadline
        self._lock = threading.Lock()

    @property
    def address(self) -> bytes:
        return self._signer.address

    def send(self, call: Call) -> Receipt:
        """Sends one transaction and waits for it.

        Raises:
            ContractError: the contract refused it, before or after it was mined.
            NodeError: the node refused or dropped it, or is gone.
        """
        (receipt,) = self.send_many([call])
        return receipt

    def send_many(self, calls: Sequence[Call]) -> tuple[Receipt, ...]:
        """Sends transactions in this order, in one batch, and waits for all of them.

        Estimates are made on the state before the batch: give `gas` for calls that build on
        one another.  When several fail, the first one's error is raised; the others have run.

        Raises: as `send`.
        """
        raw = self._run(calls)
        return tuple(to_receipt(call, receipt) for call, receipt in zip(calls, raw, strict=True))

    def deploy(self, interface: Interface, *arguments: Any) -> tuple[bytes, Receipt]:
        """Deploys a contract; returns its address and the receipt.  Raises: as `send`."""
        call = Call(interface, None, interface.creation(*arguments))
        (receipt,) = self._run([call])
        return bytes.fromhex(receipt["contractAddress"][2:]), to_receipt(call, receipt)

    def _run(self, calls: Sequence[Call]) -> list[Mapping[str, Any]]:
        with self._lock:
            outcomes: dict[int, Mapping[str, Any] | ChainError] = {}
            waiting = list(range(len(calls)))
            for attempt in range(_ATTEMPTS):
                with turn(self.node):
                    signed = self._sign([calls[i] for i in waiting])
                    results = self._submit(signed)
                retry = []
                for i, result in zip(waiting, results, strict=True):
                    if not isinstance(result, RpcError):
                        outcomes[i] = result
                    elif _is_nonce_clash(result) and attempt + 1 < _ATTEMPTS:
                        retry.append(i)
                    else:
                        call = calls[i]
                        outcomes[i] = refusal(result, call.interface, self.node.url, call.what)
                waiting = retry
                if not waiting:
                    break
            return [self._checked(call, outcomes[i]) for i, call in enumerate(calls)]

    def _sign(self, calls: Sequence[Call]) -> list[_Signed]:
        """Signs calls under the nonces that follow the account's pending ones.

        Transactions that a node would refuse are refused here, since a refusal in the middle of a batch would
        leave a gap in the nonces, which blocks the others.
        """
        count, balance, block, price, *estimates = self.node.rpc.batch(
            [
                ("eth_getTransactionCount", (hexadecimal(self.address), "pending")),
                ("eth_getBalance", (hexadecimal(self.address), "latest")),
                ("eth_getBlockByNumber", ("latest", False)),
                ("eth_gasPrice", ()),
                *(("eth_estimateGas", (self._parameters(call), "latest")) for call in self._unlimited(calls)),
            ]
        )
        for answer in (count, balance, block, price):
            if isinstance(answer, RpcError):
                raise NodeError(f"the node at {self.node.url} cannot be used: {answer.message}.")
        limits = self._limits(calls, estimates, int(block["gasLimit"], 16))
        offer = fees(block, int(price, 16), len(calls))
        self._check_funds(
            int(balance, 16), sum(limits) * next(iter(offer.values())) + sum(call.value for call in calls)
        )
        first = int(count, 16)
        return [
            _Signed(*self._signer.sign(self._transaction(call, limit, offer, first + i)))
            for i, (call, limit) in enumerate(zip(calls, limits, strict=True))
        ]

    def _unlimited(self, calls: Sequence[Call]) -> list[Call]:
        return [call for call in calls if call.gas is None and self._gas_limit is None]

    def _limits(self, calls: Sequence[Call], estimates: Sequence[Any], ceiling: int) -> list[int]:
        remaining = iter(estimates)
        limits = []
        for call in calls:
            limit = call.gas if call.gas is not None else self._gas_limit
            if limit is None:
                estimate = next(remaining)
                if isinstance(estimate, RpcError):
                    raise self._explained(call, estimate)
                limit = int(int(estimate, 16) * ESTIMATE_MARGIN)
                if int(estimate, 16) > ceiling:
                    raise NodeError(f"{call.what} needs {int(estimate, 16)} gas, a block holds {ceiling}.")
            if limit < intrinsic_gas(call):
                raise NodeError(
                    f"{call.what} costs at least {intrinsic_gas(call)} gas for its data alone, "
                    f"its limit is {limit}: raise the limit."
                )
            limits.append(min(limit, ceiling))
        return limits

    def _check_funds(self, balance: int, cost: int) -> None:
        if balance < cost:
            raise NodeError(
                f"account {hexadecimal(self.address)} has {balance} wei on chain {self.node.chain_id}, "
                f"and these transactions may cost up to {cost} wei: send it some."
            )

    def _explained(self, call: Call, error: RpcError) -> ChainError:
        """Repeats a failed estimate as a call, since Ganache's estimates have no revert data."""
        answer = self.node.rpc.batch([("eth_call", (self._parameters(call), "latest"))])[0]
        told = answer if isinstance(answer, RpcError) else error
        return refusal(told, call.interface, self.node.url, call.what)

    def _parameters(self, call: Call) -> dict[str, str]:
        values = {"from": hexadecimal(self.address), "data": hexadecimal(call.data)}
        if call.value:
            values["value"] = hex(call.value)
        return values | ({"to": hexadecimal(call.to)} if call.to is not None else {})

    def _transaction(self, call: Call, gas: int, offer: Mapping[str, int], nonce: int) -> dict[str, Any]:
        declared = access_list(call) if "type" in offer else []
        return {
            "chainId": self.node.chain_id,
            "nonce": nonce,
            "gas": gas,
            "to": call.to if call.to is not None else b"",
            "value": call.value,
            "data": call.data,
            **offer,
            **({"accessList": declared} if declared else {}),
        }

    def _submit(self, signed: Sequence[_Signed]) -> list[Mapping[str, Any] | RpcError]:
        """Sends raw transactions; a receipt or the node's refusal for each."""
        answers = self.node.rpc.batch(
            [("eth_sendRawTransaction", (hexadecimal(each.raw),)) for each in signed]
        )
        refused = {
            each.hash: answer
            for each, answer in zip(signed, answers, strict=True)
            if isinstance(answer, RpcError)
        }
        receipts = self._receipts(refused) if refused else {}
        for mined in receipts:
            del refused[mined]  # Ganache can answer with an error and mine it all the same
        accepted = [each.hash for each in signed if each.hash not in refused]
        receipts |= self._wait([each for each in accepted if each not in receipts])
        return [refused.get(each.hash) or receipts[each.hash] for each in signed]

    def _wait(self, hashes: Sequence[bytes]) -> dict[bytes, Mapping[str, Any]]:
        """Polls for receipts until the deadline."""
        receipts: dict[bytes, Mapping[str, Any]] = {}
        pause = _POLL_FIRST
        begun = time.monotonic()
        wake, end = begun + _WAKE_AFTER, begun + self._deadline
        while missing := [each for each in hashes if each not in receipts]:
            receipts |= self._receipts(missing)
            if len(receipts) == len(hashes):
                break
            if time.monotonic() > end:
                raise self._lost(next(each for each in missing if each not in receipts))
            if time.monotonic() > wake:
                self.node.wake()
                wake += _WAKE_AFTER
            time.sleep(pause)
            pause = min(2 * pause, _POLL_LAST)
        return receipts

    def _receipts(self, hashes: Sequence[bytes] | Mapping[bytes, Any]) -> dict[bytes, Mapping[str, Any]]:
        wanted = list(hashes)
        answers = self.node.rpc.batch([("eth_getTransactionReceipt", (hexadecimal(h),)) for h in wanted])
        return {
            each: answer
            for each, answer in zip(wanted, answers, strict=True)
            if isinstance(answer, Mapping) and answer.get("blockNumber")
        }

    def _lost(self, transaction: bytes) -> NodeError:
        name = hexadecimal(transaction)
        known = self.node.rpc.batch([("eth_getTransactionByHash", (name,))])[0]
        waited = f"after {self._deadline:g} s"
        if isinstance(known, Mapping):
            return NodeError(
                f"transaction {name} still waits at {self.node.url} {waited}: "
                "the node is not mining, or an earlier nonce of this account is missing."
            )
        return NodeError(
            f"the node at {self.node.url} dropped transaction {name}, which is unknown to it {waited}: "
            "run the command again."
        )

    def _checked(self, call: Call, outcome: Mapping[str, Any] | ChainError) -> Mapping[str, Any]:
        if isinstance(outcome, ChainError):
            raise outcome
        if int(outcome["status"], 16) == 1:
            return outcome
        gas = outcome["gasUsed"]
        answer = self.node.rpc.batch(
            [("eth_call", ({**self._parameters(call), "gas": gas}, outcome["blockNumber"]))]
        )[0]
        if not isinstance(answer, RpcError):
            raise ContractError(call.interface.name, "OutOfGas", {})
        raise refusal(answer, call.interface, self.node.url, call.what)


def _is_nonce_clash(error: RpcError) -> bool:
    text = error.message.lower()
    return "nonce" in text or "underpriced" in text or "already known" in text
