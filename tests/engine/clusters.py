# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster on this machine, with two nodes of one CPU each, whose parts can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from blockful_py.closable import Closable

LIMIT = 600.0
"""Seconds until a condition counts as failed; a busy machine takes minutes to start a node."""
ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}


class Cluster(Closable):
    """A head and another node.

    Attributes:
        address: host:port of the head.
    """

    def __init__(self, folder: Path) -> None:
        """A cluster with its logs in `folder`; Ray's own files need a shorter path."""
        self._log = (folder / "ray.log").open("ab")
        self._head: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None
        self.address = ""
        self.start()

    def start(self) -> None:
        """Starts the parts that are not running."""
        if self._head is None:
            port = _free_port()
            self.address = f"127.0.0.1:{port}"
            self._head = self._started("--head", f"--port={port}", "--include-dashboard=false")
        if self._node is None:
            self._node = self._started(f"--address={self.address}")

    def workers(self) -> list[int]:
        """Processes that execute tasks."""
        return [pid for pid in self._parts() if title(pid).startswith("ray::task")]

    def kill_node(self) -> None:
        """Kills all processes of the node without the head."""
        self._node = self._killed(self._node)

    def kill_head(self) -> None:
        """Kills the head's node, and with it the cluster's other node."""
        self._head = self._killed(self._head)
        self.kill_node()

    def close(self) -> None:
        if self._head is not None:
            self.kill_head()
        self._log.close()

    def _started(self, *options: str) -> subprocess.Popen[bytes]:
        """Starts a node and waits for it; repeats `ray start`, which gives up on a busy machine."""
        program = Path(sys.executable).parent / "ray"
        command = [str(program), "start", *options, "--block", "--num-cpus=1"]
        command += ["--object-store-memory=80000000", "--disable-usage-stats"]
        limit = time.monotonic() + LIMIT
        while time.monotonic() < limit:
            mark = self._log.tell()
            process = subprocess.Popen(
                command, stdout=self._log, stderr=subprocess.STDOUT, env=ENVIRONMENT, start_new_session=True
            )
            until(lambda p=process, m=mark: p.poll() is not None or "--block" in self._said(m), "ray start")  # type: ignore[misc]
            if process.poll() is None:
                return process
            self._killed(process)
        raise AssertionError(f"no node of Ray came up: {self._said(0)[-2000:]}")

    def _said(self, mark: int) -> str:
        return Path(self._log.name).read_bytes()[mark:].decode(errors="replace")

    def _killed(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            for pid in [*descendants(process.pid), process.pid]:
                kill(pid)
            process.wait(LIMIT)

    def _parts(self) -> Iterator[int]:
        for process in (self._head, self._node):
            if process is not None:
                yield from descendants(process.pid)


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for a condition."""
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit, f"not within {LIMIT} s: {what}"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    """All living descendants of a process."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found, left = [], [pid]
    while left:
        listed = children.get(left.pop(), [])
        found += listed
        left += listed
    return found


def title(pid: int) -> str:
    """The title of a process; empty after its end."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def kill(pid: int) -> None:
    """Kills a process as `kill -9` does, unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _free_port() -> int:
    """A free port outside Ray's ports for workers (10002 to 19999)."""
    while True:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            port: int = bound.getsockname()[1]
        if not 10002 <= port <= 19999:
            return port
