# SPDX-License-Identifier: Apache-2.0
"""Base class of contract adapters: reads, transactions and past events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from blockful_py.chain import abi
from blockful_py.chain.block_answers import BlockAnswers
from blockful_py.chain.calls import Call
from blockful_py.chain.event_list import EventCount, PastEvent
from blockful_py.chain.interface import interface_of
from blockful_py.chain.logs import ContractLogs, SettledBlock
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.reverts import refusal
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.sender import Sender
from blockful_py.crypto.merkle import action_leaf
from blockful_py.errors import ChainError, NodeError, ReorganisedError
from blockful_py.types import Action, Address, Bytes32, Certificate, Receipt


class Contract:
    """A deployed contract; read-only without a `sender`."""

    NAME: ClassVar[str]
    COUNT: ClassVar[EventCount] = EventCount()
    """How the contract counts its events, to detect incomplete answers of a node."""

    def __init__(
        self,
        node: Node,
        address: Address,
        sender: Sender | None = None,
        kept: Path | None = None,
        since: int = 0,
    ) -> None:
        """Opens the contract at `address`.

        `kept` is the folder that stores past events (None stores nothing); `since` is the block at which the
        contract was deployed, where the search for events starts.
        """
        self.node = node
        self.interface = interface_of(self.NAME)
        self._address = address
        self._sender = sender
        self._logs = ContractLogs(node, address, self.interface, self.COUNT, kept, since=since)
        self._answers = BlockAnswers(node)

    @property
    def chain_id(self) -> int:
        return self.node.chain_id

    @property
    def url(self) -> str:
        """URL of the node in use."""
        return self.node.url

    def newest_block(self) -> str:
        """Hash of the newest settled block, up to which events are read; same hash, same state."""
        return self.mark().hash

    def require_unchanged(self) -> None:
        """Checks that the blocks of known events are still on the chain, and reads newer events.

        Raises ReorganisedError once if a block changed; the events then match the chain again.
        """
        self._logs.require_unchanged()

    def await_settled(self) -> None:
        """Waits until all current blocks and the sender's pending transactions are settled.

        Raises NodeError.
        """
        if self._sender is not None:
            self._sender.await_mined()
        self.node.await_settled()

    @property
    def address(self) -> Address:
        """Address of the contract, 20 bytes."""
        return self._address

    def mark(self) -> SettledBlock:
        """The settled block up to which events are read."""
        return self._logs.mark()

    def after(self, mark: SettledBlock) -> Self:
        """A read-only view of the contract that lists only events after a settled block.

        Raises ReorganisedError if the chain has another block, or no block, at that height.
        """
        found = self.node.rpc.batch([("eth_getBlockByNumber", (hex(mark.block), False))])[0]
        now = found["hash"] if isinstance(found, Mapping) else None
        if now != mark.hash:
            raise ReorganisedError(
                f"block {mark.block} of chain {self.chain_id} was {mark.hash} and is {now or 'gone'} at "
                f"{self.node.url}: the chain was reorganised, the node lags, or the stored block is "
                "of another chain. Use a node that has it, or verify the whole chain."
            )
        return self._continued(self.node, mark)

    def by_another_node(self) -> Self:
        """A read-only view through another node of the chain, if one is configured, else the same node.

        It lists the events after `mark` and shares no cached answers.  It reads an event only if both nodes
        agree on the number of earlier ones.

        Raises NodeError if the other node lacks the block of `mark`.
        """
        node, mark = self.node.another(), self.mark()
        found = hexadecimal(node.block_hash(mark.block))
        if found != mark.hash:
            raise NodeError(
                f"block {mark.block} of chain {self.chain_id} is {mark.hash} at {self.node.url} and {found} "
                f"at {node.url}: one of these nodes is of another chain, or has not caught up."
            )
        return self._continued(node, mark)

    def _continued(self, node: Node, mark: SettledBlock) -> Self:
        other = type(self)(node, self.address)
        other._logs = ContractLogs(node, self.address, self.interface, self.COUNT, after=mark)
        return other

    def log(self) -> Sequence[PastEvent]:
        """All events of the contract, oldest first; includes stored events that the node has pruned."""
        return self._logs.read()

    def events(self, name: str, first_block: int = 0) -> tuple[PastEvent, ...]:
        """All events `name` from block `first_block` on, oldest first."""
        return tuple(each for each in self.log() if each.name == name and each.block_number >= first_block)

    def _read(self, function: str, *arguments: Any) -> Any:
        """A function's result, cached per block while the node's reads share one look."""
        if not self.node.is_looking:
            return self._read_many([(function, arguments)], self.node.settled())[0]
        (answer,) = self._answers.each(
            function,
            [arguments],
            lambda missing, block: self._read_many([(function, each) for each in missing], block),
        )
        return answer

    def _number(self, function: str, *arguments: Any) -> int:
        return int(self._read(function, *arguments))

    def _octets(self, function: str, *arguments: Any) -> bytes:
        return bytes(self._read(function, *arguments))

    def _read_each(self, function: str, arguments: Sequence[Any]) -> list[Any]:
        """Results of a one-argument function for each argument, cached per block."""
        return self._answers.each(
            function,
            arguments,
            lambda missing, block: self._read_many([(function, (each,)) for each in missing], block),
        )

    def _read_many(self, calls: Sequence[tuple[str, Sequence[Any]]], block: str) -> list[Any]:
        """Results of eth_calls as of a block, in as few requests as batches allow."""
        to = hexadecimal(self.address)
        answers = self.node.rpc.batch(
            [
                (
                    "eth_call",
                    ({"to": to, "data": hexadecimal(self.interface.encode(function, *arguments))}, block),
                )
                for function, arguments in calls
            ]
        )
        return [self._decoded(function, answer) for (function, _), answer in zip(calls, answers, strict=True)]

    def _decoded(self, function: str, answer: Any) -> Any:
        if isinstance(answer, RpcError):
            raise refusal(answer, self.interface, self.node.url, f"a read of {self.NAME}.{function}")
        return self.interface.decode(function, bytes.fromhex(answer[2:]))

    def send(self, data: bytes, value: int = 0) -> Receipt:
        """Sends a call with encoded `data` and `value` wei, and waits for its receipt.

        Raises ContractError if the contract refuses it, and NodeError if the node refuses or drops it or is
        gone.
        """
        return self._payer.send(self._call(data, value))

    def next_batch(self, data: Sequence[bytes]) -> tuple[Call, ...]:
        """The first of these calls that fit into one batch.  Raises as `Sender.next_batch`."""
        return self._payer.next_batch([self._call(each) for each in data])

    def send_each(self, calls: Sequence[Call]) -> tuple[Receipt | ChainError, ...]:
        return self._payer.send_each(calls)

    def signed(self, data: bytes, certificate: Certificate) -> bytes:
        """Call data of an action with its certificate replaced by `certificate`."""
        function, (*arguments, (_, *rest)) = self.interface.called(data)
        return self.interface.encode(function, *arguments, (abi.certificate(certificate), *rest))

    @property
    def _payer(self) -> Sender:
        if self._sender is None:
            raise ChainError(f"{self.NAME} was opened for reading: open it with a sender to change it.")
        return self._sender

    def _call(self, data: bytes, value: int = 0) -> Call:
        return Call(self.interface, self.address, data, value=value, slots=self._touched(data))

    def _touched(self, data: bytes) -> tuple[int, ...]:
        """Storage slots that a call is known to touch."""
        return ()

    def _send(self, function: str, *arguments: Any, value: int = 0) -> Receipt:
        return self.send(self.interface.encode(function, *arguments), value)

    def _leaf(self, function: str, chunk: int, chunks: int, digest: Bytes32) -> bytes:
        """Leaf of one chunk of an action in a certificate's content (IQuorum.Action)."""
        selector = self.interface.selector(function)
        return action_leaf(self.chain_id, self.address, selector, chunk, chunks, digest)


class CertifiedContract(Contract):
    """A contract whose changes a quorum certifies (ICertified)."""

    def quorum(self) -> bytes:
        """Address of the contract that checks certificates, 20 bytes."""
        return self._octets("quorum")

    def progress(self, proposal: Bytes32) -> tuple[int, int]:
        """Executed and total chunks of a proposal; (0, 0) before its first.

        Contracts need not count proposals of a single chunk; those are found in the events that name them.
        """
        done, chunks = self._read("progress", proposal)
        if chunks:
            return done, chunks
        naming = self._naming(proposal)
        counted = [each.arguments for each in naming if each.name == "ChunkExecuted"]
        if counted:
            return counted[-1]["done"], counted[-1]["chunks"]
        return (1, 1) if naming else (0, 0)

    def executed_in(self, proposal: Bytes32, chunk: int) -> bytes | None:
        """Hash of the transaction that executed a chunk (from 0) of a proposal, or None."""
        naming = self._naming(proposal)
        counted = [each for each in naming if each.name == "ChunkExecuted"]
        for event in counted:
            if event.arguments["done"] == chunk + 1:
                return event.transaction_hash
        return naming[0].transaction_hash if naming and not counted and chunk == 0 else None

    def _naming(self, proposal: Bytes32) -> list[PastEvent]:
        """Events with this proposal, oldest first."""
        return [each for each in self.log() if each.arguments.get("proposal") == proposal]


class BarringContract(CertifiedContract):
    """A registry of accounts that the committee may bar."""

    def live(self) -> bytes:
        """Address of the live chain whose height the registry records, 20 bytes."""
        return self._octets("live")

    def set_barred(self, account: Address, barred: bool, action: Action) -> Receipt:
        """Bars or readmits an account.

        Raises ContractError NothingToChange, or an error of IQuorum or ICertified.
        """
        return self._send("setBarred", account, barred, abi.action(action))

    def set_barred_leaf(self, account: Address, barred: bool, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `set_barred(account, barred)` in a certificate's content."""
        return self._leaf("setBarred", chunk, chunks, abi.barred_digest(account, barred))
