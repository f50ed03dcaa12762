# SPDX-License-Identifier: Apache-2.0
"""Services as real processes, mainly members: started, killed, frozen and restarted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from blockful_py.chain.processes import take_port
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.pipeline.run.nodes import Nodes
from tests.confinement import Confinement
from tests.forks import FORKS

WORDS = "correct horse battery staple"
QUICK = KdfCost(n=1 << 15)
SECONDS = 600.0


@dataclass(kw_only=True)
class ServiceProcess(ABC):
    """A service of the command line and its process, if it runs.

    Attributes:
        confinement: namespace and user of the process.
        log: file of its log; None for this process's output.
        told: its first line of output.
    """

    confinement: Confinement = field(default_factory=Confinement)
    log: Path | None = None
    process: BaseProcess | None = field(default=None, repr=False)
    said: Connection | None = field(default=None, repr=False)
    told: dict[str, Any] = field(default_factory=dict, repr=False)

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The command that starts it."""

    @abstractmethod
    def is_ready(self, line: dict[str, Any]) -> bool:
        """Whether its first line of output says that it serves."""

    def begin(self, cheat: str = "") -> None:
        """Starts the process; `ready` waits for it.  `cheat` names one of `cheats.CHEATS`."""
        assert self.process is None
        self.told = {}
        self.said, out = FORKS.Pipe(duplex=False)
        arguments = (self.command(), cheat, out, self.confinement, self.log)
        self.process = FORKS.Process(target=_serve, args=arguments)
        self.process.start()
        out.close()

    def ready(self) -> None:
        assert self.said is not None
        assert self.said.poll(SECONDS), f"{self} says nothing"
        line = os.read(self.said.fileno(), 4096)
        assert line, self.reported()
        self.told = json.loads(line)
        assert self.is_ready(self.told), (line, self.reported())

    def reported(self) -> str:
        """Its logged lines."""
        return self.log.read_text(encoding="utf-8") if self.log and self.log.exists() else ""

    def start(self, cheat: str = "") -> None:
        self.begin(cheat)
        self.ready()

    @property
    def pid(self) -> int:
        assert self.process is not None and self.process.pid is not None
        return self.process.pid

    def signal(self, which: signal.Signals) -> None:
        """Sends a signal, unless the process has ended."""
        assert self.process is not None
        if self.process.is_alive():
            os.kill(self.pid, which)

    def kill(self) -> None:
        """Kills the process, like a power cut."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """Waits for its end."""
        assert self.process is not None and self.said is not None
        self.process.join(SECONDS)
        assert self.process.exitcode is not None
        self.process.close()
        self.said.close()
        self.process, self.said = None, None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stops the process (SIGSTOP) during the block."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def dead(self) -> Iterator[None]:
        """Kills the process; restarts it after the block."""
        self.kill()
        try:
            yield
        finally:
            self.start()


@dataclass
class MemberProcess(ServiceProcess):
    """One member: its folder, its address on the network, and its process."""

    folder: Path
    port: int
    address: bytes
    arguments: Sequence[str]
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        return f"{'http' if self.host == '127.0.0.1' else 'https'}://{self.host}:{self.port}"

    def command(self) -> Sequence[str]:
        place = ("--host", self.host, "--port", str(self.port))
        return ("committee", "serve", str(self.folder), *place, "--json", *self.arguments)

    def is_ready(self, line: dict[str, Any]) -> bool:
        return line.get("url") == self.url

    @contextlib.contextmanager
    def cheating(self, cheat: str) -> Iterator[None]:
        """Restarts the member as a cheater, and honest again after the block."""
        self.kill()
        self.start(cheat)
        try:
            yield
        finally:
            self.kill()
            self.start()


def stop(services: Sequence[ServiceProcess]) -> None:
    """Ends all running processes, like `kill` on the command line, and waits."""
    running = [service for service in services if service.process is not None]
    for service in running:
        service.signal(signal.SIGCONT)
        service.signal(signal.SIGTERM)
    for service in running:
        service.wait()


@contextlib.contextmanager
def members(
    count: int,
    directory: Path,
    run: Path,
    chains: Nodes,
    more: Sequence[str] = (),
    logged: bool = False,
    found: Callable[[tuple[str, ...]], Path] | None = None,
) -> Iterator[list[MemberProcess]]:
    """Members that serve the run at `run`, which may not exist yet; `more` are options of `serve`.

    `logged`: each logs to a file in its folder, instead of this process's output.  `found`: makes a
    federation of machines from members at these URLs; returns the file for them to serve.
    """
    words = directory / "passphrase"
    words.write_text(WORDS + "\n", encoding="utf-8")
    urls = ("--live-url", chains.live.url, "--archive-url", chains.archive.url)
    arguments = [*urls, "--passphrase-file", str(words), *more]
    processes = []
    ports = [take_port() for _ in range(count)]
    at = tuple(f"http://127.0.0.1:{port.number}" for port in ports)
    arguments += ["--run", str(run)] if found is None else ["--federation", str(found(at))]
    for number, port in enumerate(ports, start=1):
        folder = MemberFolder.create(directory / f"member{number}", WORDS, QUICK)
        folder.close()
        log = folder.path / "log" if logged else None
        processes.append(MemberProcess(folder.path, port.number, folder.address, arguments, log=log))
    try:
        for member in processes:
            member.begin()
        for member in processes:
            member.ready()
        yield processes
    finally:
        stop(processes)
        for port in ports:
            port.close()


def _serve(
    command: Sequence[str], cheat: str, out: Connection, confinement: Confinement, log: Path | None
) -> None:
    confinement.enter()
    from blockful_py.cli.main import main
    from tests.member.cheats import CHEATS

    os.dup2(out.fileno(), 1)
    if log is not None:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    sys.argv = ["blockful", *command]
    if cheat:
        CHEATS[cheat]()
    main(list(command))
