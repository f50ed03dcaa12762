# SPDX-License-Identifier: Apache-2.0
"""Members as real processes: started, killed, frozen and started again at the same place."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from blockful_py.chain.processes import take_port
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.pipeline.run.nodes import Nodes
from tests.forks import FORKS

WORDS = "correct horse battery staple"
QUICK = KdfCost(n=1 << 15)
SECONDS = 600.0


@dataclass
class MemberProcess:
    """One member: its folder, its port, and the process that serves it, if any."""

    folder: Path
    port: int
    address: bytes
    arguments: Sequence[str]
    process: BaseProcess | None = field(default=None, repr=False)
    said: Connection | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self, cheat: str = "") -> None:
        """Starts the process; `ready` waits for it.  `cheat` names one of `cheats.CHEATS`."""
        assert self.process is None
        self.said, out = FORKS.Pipe(duplex=False)
        command = [
            "committee",
            "serve",
            str(self.folder),
            "--port",
            str(self.port),
            "--json",
            *self.arguments,
        ]
        self.process = FORKS.Process(target=_serve, args=(command, cheat, out))
        self.process.start()
        out.close()

    def ready(self) -> None:
        assert self.said is not None
        assert self.said.poll(SECONDS), "the member says nothing"
        line = os.read(self.said.fileno(), 4096)
        assert json.loads(line).get("url") == self.url, line

    def start(self, cheat: str = "") -> None:
        self.begin(cheat)
        self.ready()

    @property
    def pid(self) -> int:
        assert self.process is not None and self.process.pid is not None
        return self.process.pid

    def signal(self, which: signal.Signals) -> None:
        os.kill(self.pid, which)

    def kill(self) -> None:
        """As a power cut does."""
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self) -> None:
        """For its end."""
        assert self.process is not None and self.said is not None
        self.process.join(SECONDS)
        assert self.process.exitcode is not None
        self.process.close()
        self.said.close()
        self.process, self.said = None, None

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stopped (SIGSTOP), and going on afterwards."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def dead(self) -> Iterator[None]:
        """Killed, and started again afterwards."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextlib.contextmanager
    def cheating(self, cheat: str) -> Iterator[None]:
        """Restarted as a cheater, and honest afterwards."""
        self.kill()
        self.start(cheat)
        try:
            yield
        finally:
            self.kill()
            self.start()


def stop(members: Sequence[MemberProcess]) -> None:
    """Ends all that run, as `kill` on the command line does, and waits."""
    running = [member for member in members if member.process is not None]
    for member in running:
        member.signal(signal.SIGCONT)
        member.signal(signal.SIGTERM)
    for member in running:
        member.wait()


@contextlib.contextmanager
def members(
    count: int,
    directory: Path,
    run: Path,
    chains: Nodes,
    more: Sequence[str] = (),
    found: Callable[[tuple[str, ...]], Path] | None = None,
) -> Iterator[list[MemberProcess]]:
    """Members that serve the run at `run`, which may not exist yet; `more`: options of `serve`.

    `found`: makes a federation of machines of members at these URLs; returns its file, for them to serve.
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
        processes.append(MemberProcess(folder.path, port.number, folder.address, arguments))
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


def _serve(command: Sequence[str], cheat: str, out: Connection) -> None:
    from blockful_py.cli.main import main
    from tests.member.cheats import CHEATS

    os.dup2(out.fileno(), 1)
    if cheat:
        CHEATS[cheat]()
    main(list(command))
