# SPDX-License-Identifier: Apache-2.0
"""Child processes that do one task for their parent.

The child reads its task, one line, from standard input, so that no secret appears on a command line or in a
file.  It ends after the task or when its standard input closes, as when its parent exits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError, RunError
from blockful_py.monitoring import logs

STOPPED = 130
"""Exit status of a child whose parent has exited."""


class ChildProcesses(Closable):
    """Runs a module in child processes, one per call of `run`; any thread may `close` it to end them all."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._turn = threading.Lock()
        self._closed = False
        self._running = set[subprocess.Popen[str]]()

    def run(self, task: str) -> bool:
        """Has a child do `task`, a line without its newline; returns False if `close` ended the child.

        Raises RunError with the child's reason if the task failed.
        """
        with self._turn:
            if self._closed:
                return False
            process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, **logs.environment()},
            )
            self._running.add(process)
        with process:
            reason = _output(process, task)
        with self._turn:
            self._running.discard(process)
            if process.returncode and not self._closed:
                raise RunError(reason or f"{self._module} ended with exit status {process.returncode}.")
            return not process.returncode

    def close(self) -> None:
        """Kills the running children and prevents new ones."""
        with self._turn:
            self._closed = True
            for process in self._running:
                process.kill()
            for process in self._running:
                process.wait()


def serve_task(work: Callable[[str], None]) -> int:
    """Runs `work` on the task from standard input, with the parent's logging.

    Returns exit status 0, or 1 after writing the reason to standard output.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    task = sys.stdin.readline()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        logs.set_up()
        work(task)
    except BlockfulError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


def _output(process: subprocess.Popen[str], task: str) -> str:
    """Sends the task and returns the child's standard output; keeps the child's input open until it ends."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RunError("a child process has no standard input or output.")
    with suppress(BrokenPipeError):
        stdin.write(task + "\n")
        stdin.flush()
    return stdout.read().strip()


def _exit_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(STOPPED)
