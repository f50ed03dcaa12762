# SPDX-License-Identifier: Apache-2.0
"""Relays between the processes of a machine that count what passes: connections, calls and bytes, by caller.

The caller of a connection is the process at its other end (/proc), told by its command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"
CALL = re.compile(rb'"method": ?"(\w+)"|\b(?:GET|POST) (/[a-z]*)[^ \r\n]{0,200} HTTP/1\.1\r\n')
"""A call of JSON-RPC, or the first line of an HTTP request."""
KEPT = 256
"""Bytes of the stream before a chunk, where a call may begin."""
CALLERS = (
    ("participant.work", "participant at work"),
    ("leader_process", "leading member"),
    (" participant serve ", "participant"),
    (" committee serve ", "member"),
)
"""Part of a command line, and the name of such callers; the others are commands."""

Counts = dict[str, dict[str, int]]
"""By "caller -> target": connections, bytes sent and received, and calls by name."""


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes what comes to `port` on to `target`, which `name` counts it under."""

    name: str
    port: int
    target: int


class Relays:
    """Relays in a process of their own, which ends with this one."""

    def __init__(self, relays: list[Relay]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(relays, other), daemon=True)
        self._process.start()
        self._pipe.recv()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def counts(self) -> Counts:
        """Traffic since the start."""
        self._pipe.send(None)
        counts: Counts = self._pipe.recv()
        return counts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


def difference(later: Counts, earlier: Counts) -> Counts:
    """Traffic in between, without zeros."""
    since = {
        key: {name: count - earlier.get(key, {}).get(name, 0) for name, count in counts.items()}
        for key, counts in later.items()
    }
    kept = {key: {name: count for name, count in counts.items() if count} for key, counts in since.items()}
    return {key: counts for key, counts in kept.items() if counts}


def _serve(relays: list[Relay], pipe: Connection) -> None:
    asyncio.run(_run(relays, pipe))


async def _run(relays: list[Relay], pipe: Connection) -> None:
    counts: dict[str, Counter[str]] = {}
    for relay in relays:
        await asyncio.start_server(_Connections(relay, counts).take, HOST, relay.port, limit=1 << 20)
    pipe.send(None)
    asked = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe.fileno(), asked.set)
    while True:
        await asked.wait()
        asked.clear()
        try:
            if not pipe.poll():
                continue  # it was told of the same question twice
            pipe.recv()
        except EOFError:
            return
        pipe.send({key: dict(each) for key, each in counts.items()})


class _Connections:
    """The connections to one relay."""

    def __init__(self, relay: Relay, counts: dict[str, Counter[str]]) -> None:
        self._relay = relay
        self._counts = counts

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        caller = caller_at(writer.get_extra_info("peername")[1], self._relay.port)
        counter = self._counts.setdefault(f"{caller} -> {self._relay.name}", Counter())
        counter["connections"] += 1
        with contextlib.suppress(OSError):
            inner = await asyncio.open_connection(HOST, self._relay.target, limit=1 << 20)
            await asyncio.gather(
                _pump(reader, inner[1], counter, "sent"), _pump(inner[0], writer, counter, "received")
            )
        writer.close()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counter: Counter[str], direction: str
) -> None:
    before = b""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(1 << 18):
            counter[direction] += len(chunk)
            if direction == "sent":
                text = before + chunk
                for found in CALL.finditer(text):
                    if found.end() > len(before):
                        counter[(found[1] or found[2]).decode()] += 1
                before = text[-KEPT:]
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


def caller_at(port: int, relay: int) -> str:
    """The kind of process that connected from `port` to `relay`."""
    wanted = (f"0100007F:{port:04X}", f"0100007F:{relay:04X}")
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if (fields[1], fields[2]) == wanted:
            return _named(_owner(f"socket:[{fields[9]}]"))
    return "gone"


def _owner(socket: str) -> str:
    """Command line of the process that holds a socket."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if any(str(each.readlink()) == socket for each in (process / "fd").iterdir()):
                    return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _named(command_line: str) -> str:
    return next((name for part, name in CALLERS if part in command_line), "command")


def total(counts: Mapping[str, int]) -> tuple[int, int]:
    """HTTP requests and bytes, both ways."""
    requests = sum(count for name, count in counts.items() if name.startswith("/"))
    return requests, counts.get("sent", 0) + counts.get("received", 0)
