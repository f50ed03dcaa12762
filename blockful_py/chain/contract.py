# SPDX-License-Identifier: Apache-2.0
"""Base of the contracts' adapters: reading, sending and past events."""

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
from blockful_py.types import Certificate, Receipt


class Contract:
    """A deployed contract.  Without a `sender` it can only be read."""

    NAME: ClassVar[str]
    COUNT: ClassVar[EventCount] = EventCount()
    """How it counts the events that a node must list."""

    def __init__(
        self,
        node: Node,
        address: bytes,
        sender: Sender | None = None,
        kept: Path | None = None,
        since: int = 0,
    ) -> None:
        """`kept`: folder in which past events are kept; None keeps none.  `since`: block of its deployment,
        before which no events are looked for."""
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
        """Of the node that is asked."""
        return self.node.url

    def newest_block(self) -> str:
        """Hash of the newest settled block, up to which events are read then; the contract's state is
        unchanged while it is the same."""
        return self.mark().hash

    def require_unchanged(self) -> None:
        """Compares the settled blocks that events were read up to with the chain, and reads on.

        Raises ReorganisedError, once, when one has changed; the events are those of the chain again by then.
        """
        self._logs.require_unchanged()

    def await_settled(self) -> None:
        """Waits until what is on the chain now, and what the sender's account has on the way, is settled, so
        that it is read.  Raises NodeError."""
        if self._sender is not None:
            self._sender.await_mined()
        self.node.await_settled()

    @property
    def address(self) -> bytes:
        """20 bytes."""
        return self._address

    def mark(self) -> SettledBlock:
        """The settled block that events are read up to."""
        return self._logs.mark()

    def after(self, mark: SettledBlock) -> Self:
        """The contract for reading, with the events after a settled block alone.

        Raises ReorganisedError when the chain has another block there, or none.
        """
        found = self.node.rpc.batch([("eth_getBlockByNumber", (hex(mark.block), False))])[0]
        now = found["hash"] if isinstance(found, Mapping) else None
        if now != mark.hash:
            raise ReorganisedError(
                f"block {mark.block} of chain {self.chain_id} was {mark.hash} and is {now or 'gone'} at "
                f"{self.node.url}: the chain was reorganised, the node lags, or what remembers that block is "
                "of another chain. Use a node that has it, or verify the whole chain."
            )
        return self._continued(self.node, mark)

    def by_another_node(self) -> Self:
        """The contract for reading by another node of the chain, by the same where no other is named, with
        the events after the block that they are read up to here.  It remembers no answer of this one, and
        reads no event unless both nodes agree on how many there were before.

        Raises NodeError when the other node does not have that block.
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
        """All events of the contract, oldest first; those that the node has pruned where they were kept."""
        return self._logs.read()

    def events(self, name: str, first_block: int = 0) -> tuple[PastEvent, ...]:
        """All events `name` since a block of the node, oldest first."""
        return tuple(each for each in self.log() if each.name == name and each.block_number >= first_block)

    def executed_in(self, proposal: bytes, chunk: int) -> bytes | None:
        """Hash of the transaction that executed a chunk (from 0) of a proposal; None if there is none."""
        for event in self.events("ChunkExecuted"):
            if event.arguments["proposal"] == proposal and event.arguments["done"] == chunk + 1:
                return event.transaction_hash
        return None

    def _read(self, function: str, *arguments: Any) -> Any:
        return self._read_many([(function, arguments)], self.node.settled())[0]

    def _read_each(self, function: str, arguments: Sequence[Any]) -> list[Any]:
        """Results of a function of one argument, for each; those known of this block are not asked for."""
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

        Raises:
            ContractError: the contract refused it.
            NodeError: the node refused or dropped it, or is gone.
        """
        return self._payer.send(self._call(data, value))

    def next_batch(self, data: Sequence[bytes]) -> tuple[Call, ...]:
        """The first of these calls that fit into one batch.  Raises: as `Sender.next_batch`."""
        return self._payer.next_batch([self._call(each) for each in data])

    def send_each(self, calls: Sequence[Call]) -> tuple[Receipt | ChainError, ...]:
        """As `Sender.send_each`."""
        return self._payer.send_each(calls)

    def signed(self, data: bytes, certificate: Certificate) -> bytes:
        """Call data of an action, with `certificate` in place of the one that it has."""
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

    def _leaf(self, function: str, chunk: int, chunks: int, digest: bytes) -> bytes:
        """Leaf of one chunk of an action in a certificate's content (IQuorum.Action)."""
        selector = self.interface.selector(function)
        return action_leaf(self.chain_id, self.address, selector, chunk, chunks, digest)
