# SPDX-License-Identifier: Apache-2.0
"""Signs transactions locally, sends them in batches and waits until they are settled."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from blockful_py.chain.calls import Call, fees, follower_limit, intrinsic_gas, limit_of, to_receipt
from blockful_py.chain.delivery import Delivery, Outgoing, Overtaken
from blockful_py.chain.interface import Interface
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.reverts import OUT_OF_GAS, refusal
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.signer import Signer
from blockful_py.chain.turn import turn
from blockful_py.errors import ChainError, ContractError, NodeError
from blockful_py.types import Address, Receipt

SENDER_KEY = "BLOCKFUL_SENDER_KEY"
"""Environment variable with the private key that pays for transactions on nodes given by URL."""
Outcome = TypeVar("Outcome", Receipt, Mapping[str, Any])
ESTIMATES = 3
"""Maximum number of estimates and attempts for a call that runs out of gas."""
_POLL = 0.1  # seconds
_CLASH_PAUSE = 0.1  # maximum seconds before a transaction that lost its nonce is sent again


class Sender:
    """One account on one node.  Thread-safe: calls run one after another, so nonces never overlap."""

    def __init__(
        self,
        node: Node,
        signer: Signer | None,
        *,
        gas_limit: int | None = None,
        deadline: float = 120.0,
        max_fee: int | None = None,
    ) -> None:
        """Without `signer`, the account that pays, sending raises ChainError.

        `gas_limit` is the default for transactions without a limit; None estimates it.  `deadline` is the
        seconds to wait for mining, `max_fee` the maximum wei per unit of gas.
        """
        self.node = node
        self._signer = signer
        self._most = max_fee
        self._gas_limit = gas_limit
        self._deadline = deadline
        self._lock = threading.Lock()

    @property
    def address(self) -> Address:
        return self._account.address

    @property
    def pays(self) -> bool:
        """Whether it has an account to send from."""
        return self._signer is not None

    @property
    def _account(self) -> Signer:
        if self._signer is None:
            raise ChainError(
                f"no account pays for transactions on chain {self.node.chain_id}: put its private key into "
                f"${SENDER_KEY}."
            )
        return self._signer

    def send(self, call: Call) -> Receipt:
        """Sends one transaction and waits for it.

        Raises ContractError if the contract refuses it, before or after mining, and NodeError if the node
        refuses it, does not mine it, asks for more than `max_fee`, or is gone.
        """
        (receipt,) = self.send_many([call])
        return receipt

    def send_many(self, calls: Sequence[Call]) -> tuple[Receipt, ...]:
        """Sends transactions in this order, in one batch, and waits for all of them.

        Estimates use the state before the batch; set `gas` for calls that depend on one another.  If several
        fail, raises the first error; the others have run.  Raises as `send`.
        """
        return tuple(map(_succeeded, self.send_each(calls)))

    def send_each(self, calls: Sequence[Call]) -> tuple[Receipt | ChainError, ...]:
        """Like `send_many`, but returns the error in place of the receipt for each failed call."""
        outcomes = zip(calls, self._run(calls), strict=True)
        return tuple(raw if isinstance(raw, ChainError) else to_receipt(call, raw) for call, raw in outcomes)

    def next_batch(self, calls: Sequence[Call]) -> tuple[Call, ...]:
        """The longest prefix of these calls that fits into one batch, with gas limits; at least one call.

        The limits fit into a block and the account can pay for them.  Each call depends on the previous ones,
        so only the first can be estimated; the others get its limit or more (`follower_limit`).  If the first
        cannot be estimated, it is returned alone without a limit.

        Raises NodeError if the network asks for more than `max_fee`.
        """
        if len(calls) == 1 or self._gas_limit is not None:
            return tuple(calls[:1])
        _, balance, block, price, estimate = self._look(calls[:1])
        ceiling = int(block["gasLimit"], 16)
        if isinstance(estimate, RpcError) or int(estimate, 16) > ceiling:
            return tuple(calls[:1])
        first = min(limit_of(int(estimate, 16)), ceiling)
        limits = [first, *(follower_limit(call, calls[0], first) for call in calls[1:])]

        def fits(count: int) -> bool:
            offer = fees(block, int(price, 16), count, self._most)
            affordable = _cost(calls[:count], limits[:count], offer) <= int(balance, 16)
            return affordable and sum(limits[:count]) <= ceiling

        count = max(filter(fits, range(2, len(calls) + 1)), default=1)
        return tuple(replace(call, gas=gas) for call, gas in zip(calls, limits[:count], strict=False))

    def await_mined(self) -> None:
        """Waits until the account's pending transactions are mined, at most for the deadline.

        An earlier process may have sent them.
        """
        end = time.monotonic() + self._deadline
        while self._count("latest") < self._count("pending") and time.monotonic() < end:
            self.node.wake()
            time.sleep(_POLL)

    def deploy(self, interface: Interface, *arguments: Any) -> tuple[bytes, Receipt]:
        """Deploys a contract; returns its address and the receipt.  Raises as `send`."""
        call = Call(interface, None, interface.creation(*arguments))
        receipt = _succeeded(self._run([call])[0])
        return bytes.fromhex(receipt["contractAddress"][2:]), to_receipt(call, receipt)

    def _run(self, calls: Sequence[Call]) -> list[Mapping[str, Any] | ChainError]:
        """Sends calls; re-estimates and resends a single call that runs out of estimated gas.

        Other transactions may have made it more expensive meanwhile: for example, it became the vote that
        completes a quorum.
        """
        outcomes = self._sent(calls)
        tries = ESTIMATES if len(calls) == len(self._unlimited(calls)) == 1 else 1
        while (tries := tries - 1) and _is_out_of_gas(outcomes[0]):
            outcomes = self._sent(calls)
        return outcomes

    def _sent(self, calls: Sequence[Call]) -> list[Mapping[str, Any] | ChainError]:
        """Sends calls; if another process's transaction takes a call's nonce, sends it under the next one."""
        with self._lock:
            outcomes: dict[int, Mapping[str, Any] | ChainError] = {}
            waiting, end = list(range(len(calls))), time.monotonic() + self._deadline
            while waiting:
                with turn(self.node):
                    sent = self._numbered([calls[i] for i in waiting])
                    results = Delivery(self.node, self._account, self._most, self._deadline, sent).run()
                overtaken = []
                for i, result in zip(waiting, results, strict=True):
                    if isinstance(result, Overtaken) and time.monotonic() < end:
                        overtaken.append(i)
                    elif isinstance(result, Overtaken):
                        outcomes[i] = self._outrun(result)
                    elif isinstance(result, RpcError):
                        outcomes[i] = refusal(result, calls[i].interface, self.node.url, calls[i].what)
                    else:
                        outcomes[i] = result
                waiting = overtaken
                self.node.look_again()
                time.sleep(random.uniform(0, _CLASH_PAUSE) if waiting else 0)
            return [self._checked(call, outcomes[i]) for i, call in enumerate(calls)]

    def _outrun(self, overtaken: Overtaken) -> NodeError:
        return NodeError(
            f"others took every nonce of account {hexadecimal(self.address)} at {self.node.url} for "
            f"{self._deadline:g} s ({overtaken.reason}): let fewer processes use it; run the command again."
        )

    def _numbered(self, calls: Sequence[Call]) -> list[Outgoing]:
        """Transactions for calls, with nonces after the account's pending ones.

        Checks everything that a node would refuse, since a refusal within a batch leaves a gap in the nonces
        that blocks the others.
        """
        count, balance, block, price, *estimates = self._look(calls)
        limits = self._limits(calls, estimates, int(block["gasLimit"], 16))
        offer = fees(block, int(price, 16), len(calls), self._most)
        self._check_funds(int(balance, 16), _cost(calls, limits, offer))
        first = int(count, 16)
        return [
            Outgoing(call, limit, first + i, offer, since=int(block["number"], 16))
            for i, (call, limit) in enumerate(zip(calls, limits, strict=True))
        ]

    def _look(self, calls: Sequence[Call]) -> list[Any]:
        """Number of transactions with pending ones, balance, newest block, gas price, and estimates.

        Estimates cover the calls without a limit.
        """
        answers = self.node.rpc.batch(
            [
                ("eth_getTransactionCount", (hexadecimal(self.address), "pending")),
                ("eth_getBalance", (hexadecimal(self.address), "latest")),
                ("eth_getBlockByNumber", ("latest", False)),
                ("eth_gasPrice", ()),
                *(
                    ("eth_estimateGas", (self._parameters(call), "pending"))
                    for call in self._unlimited(calls)
                ),
            ]
        )
        for answer in answers[:4]:
            if isinstance(answer, RpcError):
                raise NodeError(f"the node at {self.node.url} cannot be used: {answer.message}.")
        return answers

    def _count(self, block: str) -> int:
        return int(self.node.rpc.call("eth_getTransactionCount", hexadecimal(self.address), block), 16)

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
                limit = limit_of(int(estimate, 16))
                if int(estimate, 16) > ceiling:
                    raise NodeError(
                        f"{call.what} needs {int(estimate, 16)} gas, but a block holds {ceiling}: put fewer "
                        "models into a transaction (chain.chunk_models), or use a chain with larger blocks."
                    )
            if limit < intrinsic_gas(call):
                raise NodeError(
                    f"{call.what} costs at least {intrinsic_gas(call)} gas for its data alone, "
                    f"but its limit is {limit}: raise the limit."
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
        """The error of a failed estimate, from a repeated call: Ganache's estimates lack revert data."""
        answer = self.node.rpc.batch([("eth_call", (self._parameters(call), "pending"))])[0]
        told = answer if isinstance(answer, RpcError) else error
        return refusal(told, call.interface, self.node.url, call.what)

    def _parameters(self, call: Call) -> dict[str, str]:
        values = {"from": hexadecimal(self.address), "data": hexadecimal(call.data)}
        if call.value:
            values["value"] = hex(call.value)
        return values | ({"to": hexadecimal(call.to)} if call.to is not None else {})

    def _checked(self, call: Call, outcome: Mapping[str, Any] | ChainError) -> Mapping[str, Any] | ChainError:
        if isinstance(outcome, ChainError) or int(outcome["status"], 16) == 1:
            return outcome
        limit = self.node.rpc.call("eth_getTransactionByHash", outcome["transactionHash"])["gas"]
        answer = self.node.rpc.batch(
            [("eth_call", ({**self._parameters(call), "gas": limit}, outcome["blockNumber"]))]
        )[0]
        if not isinstance(answer, RpcError):
            return ContractError(call.interface.name, OUT_OF_GAS, {})
        return refusal(answer, call.interface, self.node.url, call.what)


def _cost(calls: Sequence[Call], limits: Sequence[int], offer: Mapping[str, int]) -> int:
    """Maximum cost of calls in wei."""
    return sum(limits) * next(iter(offer.values())) + sum(call.value for call in calls)


def _is_out_of_gas(outcome: Mapping[str, Any] | ChainError) -> bool:
    return isinstance(outcome, ContractError) and outcome.name == OUT_OF_GAS


def _succeeded(outcome: Outcome | ChainError) -> Outcome:
    """The outcome of a call; raises its error if it failed."""
    if isinstance(outcome, ChainError):
        raise outcome
    return outcome
