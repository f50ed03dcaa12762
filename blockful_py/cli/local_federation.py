# SPDX-License-Identifier: Apache-2.0
"""A whole federation of machines on one machine: chains, members and participants, each a process.

Every step is the command that a person would type, and is shown as such.

<folder>/chains/              two development chains
<folder>/founder/             who founded the federation
<folder>/member-1/ ...        members
<folder>/participant-1/ ...   participants, each with its own data
<folder>/processes.json       what runs
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from blockful_py.chain import persistent
from blockful_py.chain.processes import last_lines, take_port
from blockful_py.detached import end, is_running, start_detached
from blockful_py.errors import RunError
from blockful_py.pipeline.founding import FILE, RUN
from blockful_py.whole_file import OWN, write_whole

LIVE, ARCHIVE = 1337, 1338
ATTEMPTS = 3
"""Elections that are held before `up` gives up: on a busy machine a member may miss a phase."""
READY_SECONDS = 120.0

Tell = Callable[[str], None]
"""Is called with each command."""


@dataclass(frozen=True, slots=True)
class LocalService:
    """A process of the federation; `mark` is on its command line."""

    name: str
    pid: int
    mark: str

    def is_running(self) -> bool:
        return is_running(self.pid, self.mark)


class LocalFederation:
    """The federation in a folder; `up` goes on where an earlier one stopped."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder.resolve()
        self._tell = tell
        self._urls: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The federation file."""
        return self.folder / "founder" / RUN / FILE

    def party(self, name: str) -> Path:
        return self.folder / name

    def words(self, name: str) -> Path:
        """Passphrase file of a party, made when it is first asked for."""
        path = self.folder / f"{name}.words"
        if not path.exists():
            write_whole(path, secrets.token_urlsafe(24) + "\n", mode=OWN, parents=True)
        return path

    def services(self) -> tuple[LocalService, ...]:
        try:
            listed = json.loads((self.folder / "processes.json").read_text(encoding="utf-8"))
            return tuple(LocalService(**each) for each in listed)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{self.folder}/processes.json cannot be read ({error}): remove it.") from None

    def up(self, settings_file: Path, overrides: Sequence[str], members: int) -> None:
        """Starts everything that does not run.  Raises RunError with the reason of a command that failed."""
        chains = [persistent.up(self.folder / "chains", chain) for chain in (LIVE, ARCHIVE)]
        self._urls = ("--live-url", chains[0].url, "--archive-url", chains[1].url)
        founded = (self.folder / "founded").exists()
        names = [f"member-{number}" for number in range(1, members + 1)]
        if not founded:
            self._create(settings_file, overrides, names)
        for name in names:
            self._serve_member(name)
        if not founded:
            for name in names:
                self._run(
                    name,
                    "committee",
                    "join",
                    self.party(name),
                    "--federation",
                    self.file,
                    "--stake",
                    "1",
                    "--fund",
                    *self._urls,
                )
            self._found()
            (self.folder / "founded").touch()
        for number in range(1, self._users() + 1):
            self._participant(number)

    def down(self) -> tuple[LocalService, ...]:
        """Ends all processes and chains, whose data stay; returns the processes that ran."""
        ended = tuple(each for each in reversed(self.services()) if end(each.pid, each.mark))
        persistent.down(self.folder / "chains")
        (self.folder / "processes.json").unlink(missing_ok=True)
        return ended

    def _create(self, settings_file: Path, overrides: Sequence[str], names: Sequence[str]) -> None:
        if self.file.exists():
            return
        ports = self._ports(names)
        urls = json.dumps([f"http://127.0.0.1:{port}" for port in ports.values()])
        sets = [part for each in overrides for part in ("--set", each)]
        members = ("--set", f"committee.members={urls}", "--set", f"committee.size={len(names)}")
        for name in names:
            if not self.party(name).exists():
                self._run(name, "committee", "init", self.party(name))
        self._run(None, "data", settings_file, "--save", self.folder / "data", *sets, *members)
        self._run(
            "founder",
            "federation",
            "create",
            self.party("founder"),
            settings_file,
            "--name",
            "local",
            *self._urls,
            *sets,
            *members,
        )

    def _ports(self, names: Sequence[str]) -> dict[str, int]:
        path = self.folder / "ports.json"
        if not path.exists():
            write_whole(path, json.dumps({name: _free_port() for name in names}), parents=True)
        ports: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        return ports

    def _users(self) -> int:
        from blockful_py.record.federation_file import FederationFile

        return FederationFile.parse(self.file.read_bytes()).federation.users

    def _serve_member(self, name: str) -> None:
        port = self._ports(())[name]
        self._serve(
            name,
            "committee",
            "serve",
            self.party(name),
            "--federation",
            self.file,
            "--port",
            str(port),
            *self._urls,
        )

    def _found(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._run("founder", "federation", "found", self.party("founder"))
                return
            except RunError:
                if attempt == ATTEMPTS:
                    raise

    def _participant(self, number: int) -> None:
        name = f"participant-{number}"
        folder = self.party(name)
        own = folder / "samples.safetensors"
        if not (folder / "keys.json").exists():
            self._run(name, "participant", "init", folder)
        if not own.exists():
            (self.folder / "data" / f"user-{number}.safetensors").rename(own)
        if not (folder / "joined").exists():
            self._run(
                name,
                "participant",
                "join",
                folder,
                "--federation",
                self.file,
                "--data",
                own,
                "--device",
                "cpu",
                *self._urls,
            )
            (folder / "joined").touch()
        self._serve(name, "participant", "serve", folder)

    def _serve(self, name: str, *arguments: str | Path) -> None:
        """Starts a service, unless it runs, and waits until it says that it is ready."""
        running = [each for each in self.services() if each.is_running()]
        if any(each.name == name for each in running):
            return
        log = self.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        command = self._command(name, [*arguments, "--json"])
        pid = start_detached(command, log)
        running.append(LocalService(name, pid, str(self.party(name))))
        listed = json.dumps([asdict(each) for each in running], indent=2) + "\n"
        write_whole(self.folder / "processes.json", listed)
        limit = time.monotonic() + READY_SECONDS
        while not (log.exists() and log.read_text(errors="replace").startswith("{")):
            if not running[-1].is_running() and time.monotonic() > limit - READY_SECONDS + 2:
                raise RunError(f"{name} ended; {last_lines(log)}.")
            if time.monotonic() > limit:
                raise RunError(f"{name} is not ready after {READY_SECONDS:g} s; {last_lines(log)}.")
            time.sleep(0.1)

    def _run(self, name: str | None, *arguments: str | Path) -> str:
        command = self._command(name, arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
        if done.returncode:
            reason = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise RunError(f"`{_shown(arguments)}` failed: {' '.join(reason[-6:])}")
        return done.stdout

    def _command(self, name: str | None, arguments: Sequence[str | Path]) -> list[str]:
        self._tell(_shown(arguments))
        words = [] if name is None else ["--passphrase-file", str(self.words(name))]
        return [sys.executable, "-m", "blockful_py.cli.main", *map(str, arguments), *words]


def _free_port() -> int:
    with take_port() as port:
        return port.number


def _shown(arguments: Sequence[str | Path]) -> str:
    return "blockful " + " ".join(shlex.quote(str(each)) for each in arguments if each != "--json")
