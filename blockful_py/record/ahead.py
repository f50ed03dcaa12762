# SPDX-License-Identifier: Apache-2.0
"""Processes that verify models ahead of this one, from the newest block down while this one goes up.

This process never waits for them.  It verifies the models that they failed on or did not reach itself, so
that it reports all failures.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError
from blockful_py.ledger.protocols import Store
from blockful_py.record.verify import Verifier
from blockful_py.types import Position

LEAST = 2_000
"""Minimum number of models per process: with fewer, of 54 kB, its start costs more than it saves."""
MOST = 7
"""Maximum number of processes: each has the whole chain in memory."""


class Ahead(Closable):
    """Processes that verify the models at `positions`; their number depends on free cores and models.

    Attributes:
        verified: names of the models that verify; it grows until `close`.
    """

    def __init__(self, verifier: Verifier, store: Store, positions: Sequence[Position]) -> None:
        """Starts the processes; `store`, which must be a folder's, is sent to them."""
        self.verified: dict[Position, str] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        count = min(_cores() - 1, len(positions) // LEAST, MOST)
        if count < 1:
            return
        detached = verifier.detached(store)
        connections: list[Connection] = []
        with suppress(OSError):
            connections.extend(self._started() for _ in range(count))
        task = pickle.dumps(detached)
        blocks = [tuple(block) for _, block in groupby(positions, lambda each: each.height)][::-1]
        for number, connection in enumerate(connections):
            share = blocks[number :: len(connections)]
            thread = threading.Thread(target=self._hear, args=(connection, task, share), daemon=True)
            self._threads.append(thread)
            thread.start()

    def wait(self) -> None:
        """Waits until all processes have gone through their models."""
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Ends the processes."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.wait()

    def _started(self) -> Connection:
        """Starts a process; returns the connection to it.  Raises OSError if it cannot be started."""
        ours, theirs = Pipe()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.processes.append(process)
        return ours

    def _hear(self, process: Connection, task: bytes, blocks: Sequence[Sequence[Position]]) -> None:
        with process, suppress(EOFError, OSError):
            process.send_bytes(task)
            process.send(blocks)
            while True:
                self.verified.update(process.recv())


def verify_blocks(
    verifier: Verifier, blocks: Sequence[Sequence[Position]], tell: Callable[[dict[Position, str]], object]
) -> None:
    """Runs in a process: sends the names of each block's models that verify."""
    for block in blocks:
        names = {}
        for position in block:
            with suppress(BlockfulError):
                names[position] = verifier.verify(position).name
        tell(names)


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    with suppress(BrokenPipeError, EOFError), Connection(int(sys.argv[1])) as driver:
        verify_blocks(driver.recv(), driver.recv(), driver.send)
