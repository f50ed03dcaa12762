# SPDX-License-Identifier: Apache-2.0
"""Follows transactions of one account until they are settled.

    refused because fees rose             sent again under the same nonce with current fees
    refused because its nonce is taken    overtaken by another process; the caller signs it anew
    refused for another reason            the node's answer is the outcome
    forgotten by the node                 sent again unchanged
    pending while blocks are mined        replaced by one with the same nonce and a higher fee
    pending behind a missing nonce        that nonce is filled by an empty transfer if it is free or stuck
    nonce used by another transaction     overtaken, once that transaction's block is settled

A call is signed under another nonce only after its first nonce is used up, so it is executed only once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blockful_py.chain.calls import TRANSFER_GAS, Call, access_list, fees, raised
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.signer import Signer
from blockful_py.errors import NodeError

TEND_SECONDS = 3.0
STUCK_BLOCKS = 3
"""Blocks without the transaction before its fee is raised; twice as many before another's is replaced."""
_POLL_FIRST, _POLL_LAST = 0.01, 0.5  # seconds
_CLASHES = ("nonce", "underpriced", "already known", "known transaction", "imported", "replace")
"""Substrings of node errors that mean the nonce of a transaction is taken."""
_GROWN = ("base fee", "basefee", "feecap", "fee cap")
"""Substrings of node errors that mean the fee is below the newest base fee."""
_OFFERS = 3
"""Maximum number of retries after fees rose while a transaction was on its way."""


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Another transaction has the nonce."""

    reason: str


Receipt = Mapping[str, Any]
Outcome = Receipt | RpcError | Overtaken


@dataclass(slots=True)
class Outgoing:
    """A call under one nonce.

    Attributes:
        fees: fees of the latest version.
        raw: the latest version, signed.
        hashes: hashes of all versions; at most one of them is mined.
        since: the newest block when the latest version was sent.
    """

    call: Call
    gas: int
    nonce: int
    fees: Mapping[str, int]
    raw: bytes = b""
    hashes: list[str] = field(default_factory=list)
    since: int = 0


class Delivery:
    """Sends transactions of one account and waits until all are settled."""

    def __init__(
        self,
        node: Node,
        signer: Signer,
        most: int | None,
        deadline: float,
        transactions: Sequence[Outgoing],
    ) -> None:
        """Prepares the delivery of `transactions`.

        `most` is the maximum fee in wei per unit of gas; `deadline` is the seconds to wait for mining.
        """
        self._node = node
        self._signer = signer
        self._account = hexadecimal(signer.address)
        self._most = most
        self._deadline = deadline
        self._transactions = {each.nonce: each for each in transactions}
        self._fillers: dict[int, Outgoing] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._begun = self._head = min(each.since for each in transactions)
        self._end = 0.0

    def run(self) -> list[Outcome]:
        """Returns a receipt, the node's refusal or `Overtaken` for each transaction.

        Raises NodeError if one is not mined in time, or the node is gone.
        """
        for each in self._transactions.values():
            self._sign(each)
        self._submit()
        self._wait()
        return [self._outcomes[nonce] for nonce in self._transactions]

    @property
    def _open(self) -> list[Outgoing]:
        return [each for nonce, each in self._transactions.items() if nonce not in self._outcomes]

    def _sign(self, transaction: Outgoing) -> None:
        call = transaction.call
        declared = access_list(call) if "type" in transaction.fees else []
        transaction.raw, digest = self._signer.sign(
            {
                "chainId": self._node.chain_id,
                "nonce": transaction.nonce,
                "gas": transaction.gas,
                "to": call.to if call.to is not None else b"",
                "value": call.value,
                "data": call.data,
                **transaction.fees,
                **({"accessList": declared} if declared else {}),
            }
        )
        transaction.hashes.append(hexadecimal(digest))
        transaction.since = self._head

    def _send(self, transactions: Sequence[Outgoing]) -> list[Any]:
        return self._node.rpc.batch(
            [("eth_sendRawTransaction", (hexadecimal(each.raw),)) for each in transactions]
        )

    def _submit(self) -> None:
        refused = self._refused(self._open)
        for _ in range(_OFFERS):
            dear = [each for each, error in refused if _offers_too_little(error)]
            refused = [pair for pair in refused if not _offers_too_little(pair[1])]
            if not dear:
                break
            refused += self._refused(self._offered_anew(dear))
        if not refused:
            return
        # Ganache may answer with an error and still mine it; nodes refuse transactions that they already
        # have.
        known = self._known([each for each, _ in refused])
        pending = self._count("pending")
        for each, error in refused:
            if each.nonce in known:
                continue
            clash = each.nonce < pending or any(word in error.message.lower() for word in _CLASHES)
            self._outcomes[each.nonce] = Overtaken(error.message) if clash else error

    def _refused(self, transactions: Sequence[Outgoing]) -> list[tuple[Outgoing, RpcError]]:
        """Sends transactions and returns the refused ones with the node's errors."""
        answers = zip(transactions, self._send(transactions), strict=True)
        return [(each, answer) for each, answer in answers if isinstance(answer, RpcError)]

    def _offered_anew(self, transactions: Sequence[Outgoing]) -> Sequence[Outgoing]:
        """Signs rejected transactions again with current fees.

        Raises NodeError if the network asks for more than the maximum fee.
        """
        block, price = self._node.latest_block(), int(self._node.rpc.call("eth_gasPrice"), 16)
        offer = fees(block, price, len(transactions), self._most)
        for each in transactions:
            each.fees = offer
            self._sign(each)
        return transactions

    def _wait(self) -> None:
        """Polls for receipts until the deadline."""
        pause, now = _POLL_FIRST, time.monotonic()
        self._end, tend = now + self._deadline, now + TEND_SECONDS
        while self._open:
            self._collect()
            if not self._open:
                break
            if time.monotonic() > self._end:
                raise self._late(self._open[0])
            if time.monotonic() > tend:
                self._tend()
                tend = time.monotonic() + TEND_SECONDS
            time.sleep(pause)
            pause = min(2 * pause, _POLL_LAST)

    def _collect(self) -> None:
        """Takes receipts from settled blocks."""
        confirmations = self._node.confirmations
        head = self._node.block_number() if confirmations else 0
        for nonce, receipt in self._receipts(self._open).items():
            if not confirmations or int(receipt["blockNumber"], 16) + confirmations <= head:
                self._outcomes[nonce] = receipt

    def _tend(self) -> None:
        """Resends, replaces or unblocks pending transactions."""
        self._node.wake()
        head, used, settled = (
            self._node.block_number(),
            self._count("latest"),
            self._count(self._node.settled()),
        )
        known = self._known(self._open)
        if head > self._head and any(each.nonce < used for each in self._open):
            self._end = time.monotonic() + self._deadline  # mined, and more blocks follow
        self._head = head
        spent = [each for each in self._open if each.nonce < settled]
        receipts = self._receipts(spent)
        for each in spent:
            if each.nonce not in receipts:
                self._outcomes[each.nonce] = Overtaken("another transaction of the account has its nonce")
        for each in self._open:
            stuck = each.nonce == used and head - each.since >= STUCK_BLOCKS
            if not (stuck and self._replace(each)) and each.nonce >= used and each.nonce not in known:
                self._send([each])
        if self._open and used < min(each.nonce for each in self._open):
            free = self._count("pending") <= used
            if free or head - self._begun >= 2 * STUCK_BLOCKS:
                self._fill(used)

    def _replace(self, transaction: Outgoing) -> bool:
        """Sends a version with higher fees; returns False if fees are zero or may not rise further."""
        offer = raised(transaction.fees, self._fees() or {}, self._most)
        if offer is None:
            return False
        transaction.fees = offer
        self._sign(transaction)
        self._send([transaction])
        return True

    def _fill(self, nonce: int) -> None:
        """Sends an empty transfer to the account itself under a nonce that blocks the others."""
        filler, offer = self._fillers.get(nonce), self._fees()
        if filler is not None:
            self._replace(filler)
        elif offer is not None:
            call = Call(self._open[0].call.interface, self._signer.address, b"")
            self._fillers[nonce] = filler = Outgoing(call, TRANSFER_GAS, nonce, offer)
            self._sign(filler)
            self._send([filler])

    def _fees(self) -> Mapping[str, int] | None:
        """Current fees; None if they exceed the maximum."""
        block, price = self._node.latest_block(), int(self._node.rpc.call("eth_gasPrice"), 16)
        try:
            return fees(block, price, 1, self._most)
        except NodeError:
            return None

    def _count(self, block: str) -> int:
        return int(self._node.rpc.call("eth_getTransactionCount", self._account, block), 16)

    def _known(self, transactions: Sequence[Outgoing]) -> set[int]:
        """Nonces of transactions of which the node knows a version."""
        return set(self._asked("eth_getTransactionByHash", transactions))

    def _receipts(self, transactions: Sequence[Outgoing]) -> dict[int, Receipt]:
        answers = self._asked("eth_getTransactionReceipt", transactions)
        return {nonce: answer for nonce, answer in answers.items() if answer.get("blockNumber")}

    def _asked(self, method: str, transactions: Sequence[Outgoing]) -> dict[int, Mapping[str, Any]]:
        """The node's answer for any version, by nonce."""
        asked = [(each.nonce, name) for each in transactions for name in each.hashes]
        answers = self._node.rpc.batch([(method, (name,)) for _, name in asked])
        return {
            nonce: answer
            for (nonce, _), answer in zip(asked, answers, strict=True)
            if isinstance(answer, Mapping)
        }

    def _late(self, transaction: Outgoing) -> NodeError:
        name, waited = transaction.hashes[-1], f"after {self._deadline:g} s"
        if self._known([transaction]):
            return NodeError(
                f"transaction {name} still waits at {self._node.url} {waited}: the node is not mining, an "
                "earlier nonce of this account is missing, or chain.max_fee_gwei keeps its fee too low. Run "
                "the command again."
            )
        return NodeError(
            f"the node at {self._node.url} dropped transaction {name}, which is unknown to it {waited}: "
            "run the command again."
        )


def _offers_too_little(error: RpcError) -> bool:
    return any(word in error.message.lower() for word in _GROWN)
