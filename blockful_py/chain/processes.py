# SPDX-License-Identifier: Apache-2.0
"""Ports and processes of development nodes."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from blockful_py.chain.node import Node, connect
from blockful_py.closable import Closable
from blockful_py.errors import NodeError

HOST = "127.0.0.1"
START_SECONDS = 180.0
"""Seconds to wait for a node that runs but does not answer; a start takes 2 s of CPU time."""
STOP_SECONDS = 10.0
FREE_PORTS = range(20_000, 32_768)
"""Below the range that Linux uses for outgoing connections, which could take the port first."""
_PORT_DRAWS = 100
_POLL = 0.05  # seconds


class Port(Closable):
    """A loopback port reserved among all `Port`s of all processes.

    A UDP socket on the same number reserves it until it is closed; nodes listen on TCP.
    """

    def __init__(self, number: int) -> None:
        """Reserves the port.  Raises OSError if it is reserved, in use, or not permitted."""
        self.number = number
        self._keeper = socket.socket(type=socket.SOCK_DGRAM)
        try:
            self._keeper.bind((HOST, number))
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((HOST, number))
        except BaseException:
            self._keeper.close()
            raise

    def close(self) -> None:
        self._keeper.close()


def take_port(wanted: int | None = None) -> Port:
    """Reserves the port `wanted`, or a free one.

    Raises NodeError if the wanted port is taken, or no free one was found.
    """
    if wanted is not None:
        if not port_taken(wanted):
            with suppress(OSError):
                return Port(wanted)
        raise NodeError(
            f"port {wanted} is taken by another program: stop it, choose another port, or leave the port "
            f"out to get a free one; to use a node that runs there, give its URL http://{HOST}:{wanted}."
        )
    for _ in range(_PORT_DRAWS):
        with suppress(OSError):
            return Port(FREE_PORTS[secrets.randbelow(len(FREE_PORTS))])
    raise NodeError(
        f"{_PORT_DRAWS} ports from {FREE_PORTS.start} to {FREE_PORTS.stop - 1} were taken: end some programs."
    )


def launch(command: list[str], log: IO[bytes], stdin: int) -> subprocess.Popen[bytes]:
    """Starts a node in its own session with output to `log`.  Raises NodeError if it cannot start."""
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
    """Waits until a node answers and connects to it.  Raises NodeError if it ends or stays silent."""
    end_time = time.monotonic() + START_SECONDS
    while not port_taken(port):
        if ended():
            raise NodeError(f"the development node did not start; {last_lines(log)}.")
        if time.monotonic() > end_time:
            raise NodeError(f"the development node is silent after {START_SECONDS:g} s; {last_lines(log)}.")
        time.sleep(_POLL)
    return connect(f"http://{HOST}:{port}", chain_id, diagnosis=diagnosis)


def end(process: subprocess.Popen[bytes]) -> None:
    """Terminates a process that we started, and kills it if it does not end in time."""
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
    return f"its last output: {' | '.join(lines[-count:])[-1000:]}" if lines else "it wrote no output"


def port_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0
