# SPDX-License-Identifier: Apache-2.0
"""A running node with a verified chain id."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from blockful_py.chain.failover import Failover, require_chain
from blockful_py.chain.rpc import JsonRpc, Rpc
from blockful_py.errors import NodeError
from blockful_py.extras import needed_by
from blockful_py.types import Address, Bytes32

EMBEDDED = "embedded:"
"""Prefix for the path of an embedded chain's file, in place of a URL."""
LOOK_SECONDS = 1.0
"""Time for which one look at the chain serves."""
_POLL = 0.5  # seconds


class _ThreadLook(threading.local):
    """One thread's look at the chain: the newest settled block, read at `at`, before transaction `sent`."""

    depth = 0
    block: dict[str, Any] | None = None
    at = -math.inf
    sent = 0


class Node:
    """A node and its chain id; made by `connect`.

    A block is settled once `confirmations` blocks follow it.  Contracts are read as of the newest settled
    block.
    """

    def __init__(self, rpc: Rpc, chain_id: int, confirmations: int = 0) -> None:
        self.rpc = rpc
        self.chain_id = chain_id
        self.confirmations = confirmations
        self._look = _ThreadLook()
        self._sent = 0

    @property
    def url(self) -> str:
        return self.rpc.url

    @cached_property
    def client(self) -> str:
        """Name and version of the software, in lower case: `ganache/v7...`, `anvil/v1...`, `besu/v24...`."""
        return str(self.rpc.call("web3_clientVersion")).lower()

    @property
    def is_ganache(self) -> bool:
        return self.client.startswith("ganache")

    @property
    def is_development(self) -> bool:
        """Whether it is a development node, which mines on demand and can rewind its chain."""
        return self.client.startswith(("ganache", "anvil", "hardhat", "embedded"))

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Has this thread's reads take the newest settled block from one answer, for at most LOOK_SECONDS.

        A transaction that this process sends through the node ends it, and the next read looks again.
        """
        look = self._look
        look.depth += 1
        try:
            yield
        finally:
            look.depth -= 1
            look.block = look.block if look.depth else None

    def look_again(self) -> None:
        """Ends all looks, since the chain has changed."""
        self._sent += 1

    @property
    def is_looking(self) -> bool:
        """Whether this thread's reads share one look at the chain."""
        return self._look.depth > 0

    def settled(self) -> str:
        """The newest settled block, as JSON-RPC names blocks."""
        return str(self.settled_block()["number"]) if self.is_looking else self._newest()

    def settled_block(self) -> dict[str, Any]:
        """The newest settled block, without its transactions.  Raises NodeError if the node has none."""
        look, sent, now = self._look, self._sent, time.monotonic()
        if look.block is not None and look.sent == sent and now < look.at + LOOK_SECONDS:
            return look.block
        block = self.rpc.call("eth_getBlockByNumber", self._newest(), False)
        if not isinstance(block, dict):
            raise NodeError(f"the node at {self.url} has no newest block.")
        if look.depth:
            look.block, look.at, look.sent = block, now, sent
        return block

    def _newest(self) -> str:
        return hex(max(self.block_number() - self.confirmations, 0)) if self.confirmations else "latest"

    def await_settled(self, deadline: float = 120.0) -> None:
        """Waits until the block that is newest now is settled.

        Raises NodeError if no new block arrives for `deadline` seconds.
        """
        head = newest = self.block_number() if self.confirmations else 0
        end = time.monotonic() + deadline
        while newest < head + self.confirmations:
            time.sleep(_POLL)
            self.wake()
            if (number := self.block_number()) > newest:
                newest, end = number, time.monotonic() + deadline
            if time.monotonic() > end:
                raise NodeError(
                    f"the node at {self.url} has had no new block for {deadline:g} s, and a settled block "
                    f"needs {self.confirmations} after it (chain.confirmations): check that it still mines."
                )

    def block_number(self) -> int:
        return int(self.rpc.call("eth_blockNumber"), 16)

    def timestamp(self) -> int:
        """Timestamp of the newest block in seconds."""
        return int(self.latest_block()["timestamp"], 16)

    def block_hash(self, number: int) -> Bytes32:
        """Hash of a block, 32 bytes.  Raises NodeError if the node lacks the block."""
        block = self.rpc.call("eth_getBlockByNumber", hex(number), False)
        if block is None:
            raise NodeError(f"the node at {self.url} has no block {number}: wait until it has caught up.")
        return bytes.fromhex(block["hash"][2:])

    def latest_block(self) -> dict[str, Any]:
        block: dict[str, Any] = self.rpc.call("eth_getBlockByNumber", "latest", False)
        return block

    def code(self, address: Address) -> bytes:
        """Runtime code of a contract as of the newest settled block; empty if there is no contract."""
        return bytes.fromhex(self.rpc.call("eth_getCode", hexadecimal(address), self.settled())[2:])

    def balance(self, address: Address) -> int:
        """Balance of an account in wei."""
        return int(self.rpc.call("eth_getBalance", hexadecimal(address), "latest"), 16)

    def another(self) -> Node:
        """Another node of the chain if several are configured, else this one.

        Raises NodeError if other nodes are configured but unusable.
        """
        return Node(self.rpc.another(), self.chain_id, self.confirmations)

    def wake(self) -> bool:
        """Makes an auto-mining Anvil mine its pending transactions; does nothing on other nodes.

        Transactions that reach a busy Anvil while it mines may stay pending until the next one arrives.
        """
        asleep = self.client.startswith("anvil") and self.rpc.call("anvil_getAutomine") is True
        if asleep:
            self.rpc.call("evm_mine")
        return asleep

    def close(self) -> None:
        self.rpc.close()

    def __repr__(self) -> str:
        return f"Node({self.url!r}, chain_id={self.chain_id})"


def connect(
    url: str | Sequence[str],
    expected_chain_id: int | None = None,
    timeout: float = 120.0,
    diagnosis: Callable[[], str | None] | None = None,
    confirmations: int = 0,
) -> Node:
    """Connects to the first usable node and checks its chain id.

    `embedded:PATH` names the file of an embedded chain, which needs no node.

    Raises NodeError if nothing answers or the node is not Ethereum or on another chain, and MissingExtraError
    for an embedded chain without the extra.
    """
    if not isinstance(url, str) and len(url) > 1:
        several = Failover(url, timeout, expected_chain_id)
        return Node(several, require_chain(several, expected_chain_id), confirmations)
    rpc = _opened(url if isinstance(url, str) else url[0], timeout, diagnosis)
    try:
        return Node(rpc, require_chain(rpc, expected_chain_id), confirmations)
    except BaseException:
        rpc.close()
        raise


def _opened(url: str, timeout: float, diagnosis: Callable[[], str | None] | None) -> Rpc:
    if not url.startswith(EMBEDDED):
        return JsonRpc(url, timeout, diagnosis)
    with needed_by("an embedded chain"):
        from blockful_py.chain.embedded.rpc import EmbeddedRpc
    return EmbeddedRpc(url, Path(url.removeprefix(EMBEDDED)))


def hexadecimal(value: bytes | int) -> str:
    """Formats bytes or a quantity as JSON-RPC does: `0x...`."""
    return hex(value) if isinstance(value, int) else "0x" + value.hex()
