# SPDX-License-Identifier: Apache-2.0
"""Starts, watches and stops a development node."""

from __future__ import annotations

import atexit
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from blockful_py.chain.node import Node
from blockful_py.chain.processes import HOST, end, last_lines, launch, take_port, wait_for
from blockful_py.chain.programs import anvil_command, ganache_command
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.closable import Closable
from blockful_py.errors import SettingsError

GAS_LIMIT = 30_000_000
ACCOUNTS = 10
BALANCE = 1_000_000
"""Ether of each account."""
ANVIL_STATES = 128
"""States that Anvil keeps, as many as go-ethereum does; without a limit it writes each block's whole state to
the user's home, and leaves it there."""
_DEATH_SECONDS = 1.0
"""Seconds to wait for a dead node's process, whose socket closes first."""


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Options of a development node.

    Attributes:
        chain_id: chain id of RPC and contracts, and network id.
        port: None picks a free one.
        kind: one of KINDS.
        block_time: seconds between blocks; 0 mines every transaction at once.
        database: directory that stores the chain; None keeps it in memory (Ganache only).
        hardfork: rules of the chain, by the name that both programs use.
        more: further options of the program.
    """

    chain_id: int
    port: int | None = None
    kind: str = "ganache"
    mnemonic: str = DEV_MNEMONIC
    block_time: int = 0
    database: Path | None = None
    hardfork: str = "shanghai"
    more: tuple[str, ...] = ()

    def command(self, port: int, *, end_with_parent: bool) -> list[str]:
        """The command line.

        Raises SettingsError for an unknown kind, and ToolchainError if the program is not installed or
        Node.js is too old.
        """
        if self.kind not in KINDS:
            known = " or ".join(map(repr, KINDS))
            raise SettingsError(f"a development node is of kind {known}, not {self.kind!r}.")
        kind = KINDS[self.kind]
        options = [f"--{name}={value}" for name, value in kind.options(self, port).items()]
        return [*kind.program(end_with_parent=end_with_parent), *options, *self.more]


class Program(Protocol):
    """The command that starts a kind's program; with `end_with_parent` it ends with this process."""

    def __call__(self, *, end_with_parent: bool) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class DevnetKind:
    """A program that runs development nodes, and its options for a node at a port."""

    program: Program
    options: Callable[[NodeOptions, int], dict[str, object]]


def _ganache(node: NodeOptions, port: int) -> dict[str, object]:
    options: dict[str, object] = {
        "server.host": HOST,
        "server.port": port,
        "chain.chainId": node.chain_id,
        "chain.networkId": node.chain_id,
        "chain.hardfork": node.hardfork,
        "miner.blockGasLimit": GAS_LIMIT,
        "miner.callGasLimit": GAS_LIMIT,
        "miner.blockTime": node.block_time,
        "wallet.mnemonic": node.mnemonic,
        "wallet.totalAccounts": ACCOUNTS,
        "wallet.defaultBalance": BALANCE,
        "logging.quiet": "true",
    }
    return options if node.database is None else options | {"database.dbPath": node.database}


def _anvil(node: NodeOptions, port: int) -> dict[str, object]:
    options: dict[str, object] = {
        "host": HOST,
        "port": port,
        "chain-id": node.chain_id,
        "hardfork": node.hardfork,
        "gas-limit": GAS_LIMIT,
        "mnemonic": node.mnemonic,
        "accounts": ACCOUNTS,
        "balance": BALANCE,
        "prune-history": ANVIL_STATES,
    }
    return options | {"block-time": node.block_time} if node.block_time else options


KINDS: Mapping[str, DevnetKind] = {
    "ganache": DevnetKind(ganache_command, _ganache),
    "anvil": DevnetKind(lambda *, end_with_parent: anvil_command(), _anvil),
}


class Devnet(Closable):
    """A running development node; stops with the context, and with this process at the latest.

    The node runs in its own session, so Ctrl-C reaches only this process, which finishes its writes before it
    stops the node.
    """

    def __init__(self, options: NodeOptions) -> None:
        """Starts the node and waits until it answers.

        Raises NodeError if the port is taken or the node does not start; otherwise as `NodeOptions.command`.
        """
        self.options = options
        self._port = take_port(options.port)
        self._folder = tempfile.TemporaryDirectory(prefix="blockful-devnet-")
        self._log = Path(self._folder.name) / "log"
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        try:
            self.node = self._start()
        except BaseException:
            self.close()
            raise

    @property
    def port(self) -> int:
        return self._port.number

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def chain_id(self) -> int:
        return self.options.chain_id

    @property
    def pid(self) -> int | None:
        """Process id of the node; None after it is stopped."""
        return self._process.pid if self._process else None

    def signer(self, index: int) -> Signer:
        """One of the node's funded accounts, `index` from 0 to 9."""
        return Signer.from_mnemonic(self.options.mnemonic, index)

    def sender(self, index: int = 0) -> Sender:
        """A sender for one of the node's accounts.

        On Ganache with automatic mining, the gas limit is the block's: each transaction gets its own block,
        and an estimate takes twice as long as the transaction.
        """
        whole_block = self.options.kind == "ganache" and self.options.block_time == 0
        limit = GAS_LIMIT if whole_block else None
        return Sender(self.node, self.signer(index), gas_limit=limit)

    def diagnosis(self) -> str | None:
        """Why the node no longer answers; None while it runs."""
        if self._process is None:
            return "this development node was stopped"
        try:
            status = self._process.wait(_DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return f"the development node {how}; {last_lines(self._log)}; run the command again"

    def close(self) -> None:
        """Terminates the node and kills it if it does not end in time; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            end(process)
            if hasattr(self, "node"):
                self.node.close()
        self._port.close()
        self._folder.cleanup()
        atexit.unregister(self.close)

    def __repr__(self) -> str:
        return f"Devnet({self.options.kind}, chain_id={self.chain_id}, {self.url})"

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _start(self) -> Node:
        with self._log.open("wb") as log:
            self._process = launch(
                self.options.command(self.port, end_with_parent=True), log, subprocess.PIPE
            )
        return wait_for(self.port, self.options.chain_id, self._log, self._has_ended, self.diagnosis)


def start_together(*options: NodeOptions) -> tuple[Devnet, ...]:
    """Starts several nodes at once; if one fails to start, stops the others.

    Raises as `Devnet`.
    """
    with ThreadPoolExecutor(len(options)) as pool:
        starting = [pool.submit(Devnet, each) for each in options]
    if failed := [each for each in starting if each.exception() is not None]:
        for each in starting:
            if each not in failed:
                each.result().close()
    return tuple(each.result() for each in starting)
