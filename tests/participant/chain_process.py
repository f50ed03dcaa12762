# SPDX-License-Identifier: Apache-2.0
"""A development chain as a process with its own folder and user, to be killed and restarted."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from blockful_py.chain.node import Node, connect
from blockful_py.errors import NodeError
from tests.confinement import Confinement, begin_confined
from tests.member.leaders import until

LOG = "service.log"


@dataclass
class ChainProcess:
    """A development chain: its folder, its URL, and its process, if any."""

    folder: Path
    chain_id: int
    url: str
    command: Sequence[str]
    confinement: Confinement
    process: BaseProcess | None = None

    @property
    def state(self) -> Path:
        """The state written by a killed node, which the next one reads."""
        return self.folder / "state.json"

    def begin(self) -> None:
        """Starts the process; `ready` waits for it."""
        kept = ("--load-state", str(self.state)) if self.state.exists() else ()
        arguments = ((*self.command, *kept), self.folder)
        self.process = begin_confined(self.confinement, _execute, arguments)

    def ready(self) -> Node:
        nodes: list[Node] = []

        def answers() -> bool:
            assert self.process is not None and self.process.is_alive(), f"the chain at {self.url} ended"
            with suppress(NodeError):
                nodes.append(connect(self.url, self.chain_id))
            return bool(nodes)

        until(answers)
        return nodes[0]

    def kill(self) -> None:
        """Kills the node like a power cut, so that a node which writes each block loses only waiting
        transactions.

        Anvil keeps its blocks in memory, so mining is stopped, all blocks are read, and the process is
        killed.
        """
        with closing(connect(self.url, self.chain_id)) as node:
            node.rpc.call("evm_setAutomine", False)
            height = -1
            while height != node.block_number():  # a block was under way
                height = node.block_number()
                kept = node.rpc.call("anvil_dumpState", True)
        self.state.write_bytes(gzip.decompress(bytes.fromhex(kept[2:])))
        self.confinement.own(self.state)
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            assert self.process.pid is not None
            os.kill(self.process.pid, how)
            self.process.join()
            self.process = None


def _execute(command: Sequence[str], folder: Path) -> None:
    """Executes a program that writes to its log."""
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.environ["HOME"] = str(folder)
    os.execvp(command[0], command)  # noqa: S606
