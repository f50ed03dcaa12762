# SPDX-License-Identifier: Apache-2.0
"""A development chain as a process with a folder and a user of its own, to be killed and started again."""

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
    """A development chain: its folder, where it answers, and its process, if any."""

    folder: Path
    chain_id: int
    url: str
    command: Sequence[str]
    confinement: Confinement
    process: BaseProcess | None = None

    @property
    def state(self) -> Path:
        """The state that a killed node had written, for the next one to read."""
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
        """Kills the node as a power cut would, losing only pending transactions.

        Anvil keeps its blocks in memory, so it stops mining, dumps its state, and is then killed.
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
    """Becomes a program, which writes to its log."""
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.environ["HOME"] = str(folder)
    os.execvp(command[0], command)  # noqa: S606
