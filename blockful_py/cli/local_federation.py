# SPDX-License-Identifier: Apache-2.0
"""A whole federation of machines on one machine: chains, members and participants, each a process.

Every step is the command that a person would type, and is shown as such.

    <folder>/chains/              two development chains
    <folder>/founder/             the founder
    <folder>/member-1/ ...        members
    <folder>/participant-1/ ...   participants with their own data; named after their own files, if any
    <folder>/public/              public rows of these files, as the founder receives them
    <folder>/explorer/            data of the explorer, which is not a party
    <folder>/processes.json       running processes
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from blockful_py.chain import persistent
from blockful_py.chain.processes import last_lines, take_port
from blockful_py.cli.own_files import NONE, PUBLIC, OwnFiles
from blockful_py.cli.parties import FOUNDED, is_founded
from blockful_py.cli.passphrase import beside
from blockful_py.detached import end, is_running, start_detached
from blockful_py.errors import RunError, SettingsError
from blockful_py.monitoring import logs
from blockful_py.participant.folder import KEYS, LIMITS
from blockful_py.pipeline.run.entering import FILE, RUN
from blockful_py.record.federation_file import FederationFile
from blockful_py.settings import RunSettings, Settings
from blockful_py.settings.code import code_of
from blockful_py.settings.text import apply_override, read_document
from blockful_py.whole_file import OWN, write_whole

LIVE, ARCHIVE = 1337, 1338
ATTEMPTS = 3
"""Number of elections before `up` gives up: on a busy machine a member may miss a phase."""
READY_SECONDS = 120.0
SAMPLES = "samples.safetensors"
EXPLORER, FOLLOWER = "explorer", "follower"
PARTIES = "parties.json"
"""File with the participants' names and data files, and the columns of these."""

Tell = Callable[[str], None]
"""Called with each command, and, as a comment, with the reason why one has to be repeated."""

Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class LocalService:
    """A process of the federation; its command line contains `mark`."""

    name: str
    pid: int
    mark: str

    def is_running(self) -> bool:
        return is_running(self.pid, self.mark)


class LocalFederation:
    """The federation in a folder; `up` continues where an earlier one stopped."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder.resolve()
        self._tell = tell
        self.shared: dict[str, Any] = {}
        """Output of `blockful data` on the division of the samples; empty if that was done before."""
        self.brought: dict[str, list[str]] = {}
        """Output of each joining participant on the rows of its own file."""
        self._urls: tuple[str, ...] = ()
        self._code = RunSettings()
        self._listing = threading.Lock()

    @property
    def file(self) -> Path:
        """The federation file."""
        return self.folder / "founder" / RUN / FILE

    def party(self, name: str) -> Path:
        return self.folder / name

    def words(self, name: str) -> Path:
        """Passphrase file of a party; created on first use."""
        path = beside(self.party(name))
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

    def up(self, settings_file: Path, overrides: Sequence[str], members: int, own: OwnFiles = NONE) -> None:
        """Starts everything that is not running; `own` files of participants only matter for a new
        federation.

        Raises SettingsError before starting anything, and RunError with the reason if a command fails.
        """
        founded = is_founded(self.folder)
        if not founded:
            overrides = (*own.settings(self.folder / PUBLIC), *overrides)
            self._code = code_of(_usable(settings_file, _sets(overrides, range(1, members + 1))))
        chains: dict[int, str] = {}
        together(lambda chain: chains.update({chain: self._chain(chain)}), (LIVE, ARCHIVE))
        self._follow(chains)
        names = [f"member-{number}" for number in range(1, members + 1)]
        if founded:
            together(self._serve_member, names)
        else:
            self._bring(own)
            self._create(settings_file, overrides, names)
            together(self._stand, names)
            self._found()
            (self.folder / FOUNDED).touch()
        self._participants()
        self._explorer()

    def explorer_url(self) -> str:
        """URL of the running explorer."""
        return str((_said(self.folder / f"{EXPLORER}.log") or {})["url"])

    def down(self) -> tuple[LocalService, ...]:
        """Ends all processes and chains, keeping their data; returns the processes that were running."""
        ended = tuple(each for each in reversed(self.services()) if end(each.pid, each.mark))
        persistent.down(self.folder / "chains")
        (self.folder / "processes.json").unlink(missing_ok=True)
        return ended

    @property
    def participants(self) -> tuple[str, ...]:
        """Folder names of the participants, in the order of their numbers."""
        if files := self._own().files:
            return tuple(files)

        users = FederationFile.parse(self.file.read_bytes()).federation.users
        return tuple(f"participant-{number}" for number in range(1, users + 1))

    @property
    def has_own_files(self) -> bool:
        """Whether the participants brought their own files."""
        return bool(self._own().files)

    def _own(self) -> OwnFiles:
        """The participants' own files; none if the samples were divided among them."""
        path = self.folder / PARTIES
        return OwnFiles(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else NONE

    def _bring(self, own: OwnFiles) -> None:
        """Has the participants draw their public rows, and gives these to the founder."""
        if not own.files:
            return
        write_whole(self.folder / PARTIES, json.dumps(asdict(own), indent=2), parents=True)
        columns = (*_given("--label", own.label), *_given("--person", own.person))
        together(lambda name: self._init_participant(name, ("--data", own.files[name], *columns)), own.files)
        for name in own.files:
            public = self.folder / PUBLIC / f"{name}.parquet"
            write_whole(public, (self.party(name) / "public.parquet").read_bytes(), parents=True)

    def _create(self, settings_file: Path, overrides: Sequence[str], names: Sequence[str]) -> None:
        """Divides the samples among participants, and has the founder deploy the contracts."""
        sets = _sets(overrides, self._ports(names).values())
        options = [part for each in sets for part in ("--set", each)]
        steps: list[Callable[[], object]] = []
        shared = self.folder / "shared"
        if not shared.exists() and not self.has_own_files:
            share = ("data", settings_file, "--save", self.folder / "data", "--json")
            steps.append(lambda: self.shared.update(json.loads(self._run(None, *share, *options))))
        if not self.file.exists():
            create = ("federation", "create", self.party("founder"), settings_file, "--name", "local")
            steps.append(lambda: self._run("founder", *create, *self._urls, *options))
        together(lambda step: step(), steps)
        shared.touch()

    def _ports(self, names: Sequence[str]) -> dict[str, int]:
        path = self.folder / "ports.json"
        if not path.exists():
            write_whole(path, json.dumps({name: _free_port() for name in names}), parents=True)
        ports: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        return ports

    def _chain(self, chain_id: int) -> str:
        """URL of a chain's running node; always the same, since every run stores it."""
        return persistent.up(self.folder / "chains", chain_id).url

    def _follow(self, chains: Mapping[int, str]) -> None:
        """Has one process ask the chains for all others; the explorer and every party ask it."""
        nodes = ("--live-url", chains[LIVE], "--archive-url", chains[ARCHIVE])
        self._serve(FOLLOWER, "follower", *nodes, "--port", self._port_of(FOLLOWER), mark=chains[LIVE])
        said = _said(self.folder / f"{FOLLOWER}.log") or {}
        self._urls = ("--live-url", said["live"], "--archive-url", said["archive"])

    def _serve_member(self, name: str) -> None:
        file, code = ("--federation", self.file), _repeated("--allow", self._code.allow)
        place = (*self._listening(name), *self._urls)
        self._serve(name, "committee", "serve", self.party(name), *file, *code, *place)

    def _listening(self, name: str) -> tuple[str, ...]:
        """Where a member listens; benchmarks put a relay in front of it."""
        return "--port", str(self._ports(())[name])

    def _stand(self, name: str) -> None:
        """Has a member serve and stand for the first committee."""
        if not self.party(name).exists():
            self._run(name, "committee", "init", self.party(name))
        self._serve_member(name)
        stake = ("--federation", self.file, "--stake", "1", "--fund")
        self._run(name, "committee", "join", self.party(name), *stake, *self._urls)

    def _found(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._run("founder", "federation", "found", self.party("founder"))
                return
            except RunError as error:
                if attempt == ATTEMPTS:
                    raise
                self._tell(f"# {error}")

    def _participants(self) -> None:
        """Has the participants join one by one, in the registry's order, and then serve."""
        names = self.participants
        together(self._init_participant, names)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            serving = []
            for number, name in enumerate(names, start=1):
                self._join(number, name)
                serving.append(pool.submit(self._serve, name, "participant", "serve", self.party(name)))
            for each in serving:
                each.result()

    def _explorer(self) -> None:
        """Starts the explorer with the federation file and the chains' URLs; it shows all parties' jobs."""
        runs = [self.party(name) / RUN for name in self.participants]
        jobs = [part for each in runs for part in ("--jobs", each)]
        place = ("--folder", self.party(EXPLORER), "--port", self._port_of(EXPLORER))
        self._serve(EXPLORER, "explorer", "--federation", self.file, *self._urls, *place, *jobs)

    def _port_of(self, name: str) -> str:
        """The port of a service, the same at each start."""
        path = self.folder / f"{name}.port"
        if not path.exists():
            write_whole(path, str(_free_port()), RunError, parents=True)
        return path.read_text(encoding="ascii")

    def _init_participant(self, name: str, brought: Sequence[str] = ()) -> None:
        if not (self.party(name) / KEYS).exists():
            self._run(name, "participant", "init", self.party(name), *brought)

    def _join(self, number: int, name: str) -> None:
        folder = self.party(name)
        if (folder / "joined").exists():
            return
        own = self._own()
        data = own.files.get(name, folder / SAMPLES)
        if not own.files and not (folder / SAMPLES).exists():
            (self.folder / "data" / f"user-{number}.safetensors").rename(folder / SAMPLES)
        joining = (
            "--federation",
            self.file,
            "--data",
            data,
            *_given("--person", own.person),
            "--device",
            "cpu",
        )
        allow, callbacks = self._code.allow, self._code.callbacks
        code = (*_repeated("--allow", allow), *_repeated("--callback", callbacks))
        joined = self._run(name, "participant", "join", folder, *joining, *code, *self._urls, "--json")
        self.brought[name] = json.loads(joined)["data"]
        self._limit(folder, number)
        (folder / "joined").touch()

    def _limit(self, folder: Path, number: int) -> None:
        """Lets only one participant per core work at a time: each loads torch and a model."""
        turn = self.folder / f"turn-{number % (os.cpu_count() or 1)}"
        write_whole(folder / LIMITS, tomli_w.dumps({"turn": str(turn)}))

    def _serve(self, name: str, *arguments: str | Path, mark: str = "") -> None:
        """Starts a service unless it is running, and waits until it reports that it is ready.

        `mark` is a part of its command line by which it is known, its folder by default.
        """
        log = self.folder / f"{name}.log"
        with self._listing:
            running = [each for each in self.services() if each.is_running()]
            if any(each.name == name for each in running):
                return
            log.unlink(missing_ok=True)
            command = self._command(None if name in (EXPLORER, FOLLOWER) else name, [*arguments, "--json"])
            pid = start_detached(command, log, logs.environment())
            started = LocalService(name, pid, mark or str(self.party(name)))
            listed = json.dumps([asdict(each) for each in (*running, started)], indent=2) + "\n"
            write_whole(self.folder / "processes.json", listed)
        limit = time.monotonic() + READY_SECONDS
        while _said(log) is None:
            if not started.is_running() and time.monotonic() > limit - READY_SECONDS + 2:
                raise RunError(f"{name} ended; {last_lines(log)}.")
            if time.monotonic() > limit:
                raise RunError(f"{name} is not ready after {READY_SECONDS:g} s; {last_lines(log)}.")
            time.sleep(0.1)

    def _run(self, name: str | None, *arguments: str | Path) -> str:
        command = self._command(name, arguments)
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **logs.environment()}
        )
        if done.returncode:
            said = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-6:])
            raise RunError(f"`{_shown(arguments)}` failed: {said.partition('error: ')[2] or said}")
        return done.stdout

    def _command(self, name: str | None, arguments: Sequence[str | Path]) -> list[str]:
        self._tell(_shown(arguments))
        words = [] if name is None else ["--passphrase-file", str(self.words(name))]
        return [sys.executable, "-m", "blockful_py.cli.main", *map(str, arguments), *words]


def together(work: Callable[[Each], object], each: Iterable[Each]) -> None:
    """Calls `work` for all items, one per core at a time, since most calls start programs.

    Raises the first error once all calls have ended.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(work, one) for one in each]:
            done.result()


def _sets(overrides: Sequence[str], ports: Iterable[int]) -> tuple[str, ...]:
    """The overrides, plus settings for the members, which listen on these ports."""
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    return (*overrides, f"committee.members={json.dumps(urls)}", f"committee.size={len(urls)}")


def _repeated(option: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for each in values for part in (option, each))


def _given(option: str, value: str | None) -> tuple[str, ...]:
    return () if value is None else (option, value)


def _usable(settings_file: Path, sets: Sequence[str]) -> Settings:
    """Reads the settings.  Raises SettingsError if they do not fit a federation of machines."""
    document = read_document(settings_file)
    for each in sets:
        apply_override(document, each)
    if document.get("committee", {}).get("roster") != "elected":
        raise SettingsError(
            f"{settings_file} is for a laboratory: the members of a federation of machines are elected. Set "
            'committee.roster = "elected", or use the settings that `blockful init machines` writes.'
        )
    return Settings.parse(document)


def _said(log: Path) -> dict[str, Any] | None:
    """The JSON that a service printed when ready, found among its log lines; None before that."""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else ():
        with suppress(ValueError):
            document = json.loads(line)
            if isinstance(document, dict) and "level" not in document:
                return document
    return None


def _free_port() -> int:
    with take_port() as port:
        return port.number


def _shown(arguments: Sequence[str | Path]) -> str:
    return "blockful " + " ".join(shlex.quote(str(each)) for each in arguments if each != "--json")
