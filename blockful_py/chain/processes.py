# SPDX-License-Identifier: Apache-2.0
"""Processes of development nodes: ports, starting, waiting, ending."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from blockful_py.chain.node import Node, connect
from blockful_py.errors import NodeError

HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 10.0
_POLL = 0.05  # seconds


def choose_port(wanted: int | None) -> int:
    """A free port of the loopback interface.

    Raises:
        NodeError: the port asked for is taken.
    """
    if wanted is not None and port_taken(wanted):
        raise NodeError(
            f"port {wanted} is taken by another program: stop it, choose another port, or leave the port "
            f"out to get a free one; to use a node that runs there, give its URL http://{HOST}:{wanted}."
        )
    with socket.socket() as probe:
        probe.bind((HOST, wanted or 0))
        port: int = probe.getsockname()[1]
        return port


def launch(command: list[str], log: IO[bytes], stdin: int) -> subprocess.Popen[bytes]:
    """Starts a node in a session of its own, its output in `log`.  Raises NodeError when it cannot."""
    environment = {**os.environ, "NODE_NO_WARNINGS": "1"}
    try:
        return subprocess.Popen(
            command, stdin=stdin, stdout=log, stderr=log, start_new_session=True, env=environment
        )
    except OSError as error:
        raise NodeError(f"{command[0]} cannot be started: {error.strerror}.") from error


def wait_for(
    port: int,
    chain_id: int,
    log: Path,
    ended: Callable[[], bool],
    diagnosis: Callable[[], str | None] | None = None,
) -> Node:
    """Waits until a node answers and connects to it.  Raises NodeError when it ends or is silent."""
    end_time = time.monotonic() + START_SECONDS
    while not port_taken(port):
        if ended():
            raise NodeError(f"the development node did not start; {last_lines(log)}.")
        if time.monotonic() > end_time:
            raise NodeError(f"the development node is silent after {START_SECONDS:g} s; {last_lines(log)}.")
        time.sleep(_POLL)
    return connect(f"http://{HOST}:{port}", chain_id, diagnosis=diagnosis)


def end(process: subprocess.Popen[bytes]) -> None:
    """Terminates a process that we started, and kills it when it does not end in time."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def last_lines(log: Path, count: int = 5) -> str:
    """The end of a log, for error messages."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return f"its last words: {' | '.join(lines[-count:])[-1000:]}" if lines else "it said nothing"


def port_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
