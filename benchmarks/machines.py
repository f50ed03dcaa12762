# SPDX-License-Identifier: Apache-2.0
"""A federation of processes, as `blockful up` starts it: memory, processor time, calls and bytes, by stage.

    python -m benchmarks.machines 5 10 30
    python -m benchmarks.machines 30 --rounds 10

Stages: up, each round of models, idle, a request and its certificate; one line of JSON each.  A federation
that was broken off goes on: a stage that has a line is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machines_table import markdown
from benchmarks.processes import Usage, available, children, usage
from benchmarks.relays import HOST, Relay, Relays, difference
from blockful_py.chain import persistent
from blockful_py.chain.processes import take_port
from blockful_py.child_process import ChildProcesses
from blockful_py.cli.local_federation import ARCHIVE, LIVE, LocalFederation
from blockful_py.errors import NodeError
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.record.request_stage import RequestStage
from blockful_py.whole_file import write_whole

SETTINGS = Path("examples/machines.toml")
OUTPUT = Path("benchmarks/results/machines.jsonl")
MEMBERS = 4
IDLE_SECONDS = 60.0
SAMPLE_SECONDS = 2.0
LOOK_SECONDS = 2.0


class MeasuredFederation(LocalFederation):
    """A local federation whose chains and members are reached by way of relays."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, lambda command: print(f"  {command}", file=sys.stderr, flush=True))
        self._relays: dict[str, int] = {}

    def relays(self) -> list[Relay]:
        """Starts the chains, and lists a relay for each of them and for each member."""
        path = self.folder / "relays.json"
        names = [f"member-{number}" for number in range(1, MEMBERS + 1)]
        if not path.exists():
            ports = {name: free_port() for name in (str(LIVE), str(ARCHIVE), *names)}
            write_whole(path, json.dumps(ports), parents=True)
        self._relays = json.loads(path.read_text(encoding="utf-8"))
        chains = {"live chain": LIVE, "archive chain": ARCHIVE}
        nodes = {name: persistent.up(self.folder / "chains", chain).port for name, chain in chains.items()}
        return [
            *(Relay(name, self._relays[str(chains[name])], port) for name, port in nodes.items()),
            *(Relay("members", self._ports(names)[name], self._relays[name]) for name in names),
        ]

    def _chain(self, chain_id: int) -> str:
        super()._chain(chain_id)
        return f"http://{HOST}:{self._relays[str(chain_id)]}"

    def _listening(self, name: str) -> tuple[str, ...]:
        announced = f"http://{HOST}:{self._ports(())[name]}"
        return "--port", str(self._relays[name]), "--url", announced

    def processes(self) -> dict[int, str]:
        """Kinds by process: members, participants, their children, chains."""
        services = {each.pid: each.name.partition("-")[0] for each in self.services()}
        nodes = {each.pid: "chain" for each in persistent.status(self.folder / "chains")}
        return {**services, **nodes, **dict.fromkeys(children(services), "work")}


class Sampler:
    """Samples the processes while it is open: the most memory at a time, and who had torch in it."""

    def __init__(self, federation: MeasuredFederation) -> None:
        self._federation = federation
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.most: dict[str, int] = {"pss": 0, "at work": 0}
        self.least_available = available()
        self.rss: dict[str, int] = defaultdict(int)

    def _run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            measured = look(self._federation.processes())
            self.most["pss"] = max(self.most["pss"], sum(each.pss for _, each in measured))
            working = sum(kind == "work" for kind, _ in measured)
            self.most["at work"] = max(self.most["at work"], working)
            self.least_available = min(self.least_available, available())
            for kind, each in measured:
                self.rss[kind] = max(self.rss[kind], each.rss)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


class Measurement:
    """Writes a line for each stage of one federation."""

    def __init__(self, federation: MeasuredFederation, relays: Relays, output: Path, case: Any) -> None:
        self._federation = federation
        self._relays = relays
        self._output = output
        self._case = case

    def is_done(self, stage: str) -> bool:
        return any(each["stage"] == stage and same(each, self._case) for each in lines(self._output))

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Measures the block; the caller may add to the yielded figures."""
        print(f"{self._case['users']} participants: {name} ...", flush=True)
        begun, before = time.monotonic(), self._relays.counts()
        spent = self._spent()
        more: dict[str, Any] = {}
        with Sampler(self._federation) as sampler:
            yield more
        seconds = time.monotonic() - begun
        line = {
            **self._case,
            "stage": name,
            "seconds": round(seconds, 1),
            "cpu": {
                kind: round(used - spent.get(kind, 0.0), 2)
                for kind, used in self._spent().items()
                if used > spent.get(kind, 0.0)
            },
            "processes": self._now(),
            "most": {**sampler.most, "rss": dict(sampler.rss), "least available": sampler.least_available},
            "calls": difference(self._relays.counts(), before),
            "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
            "load": os.getloadavg()[0],
            **more,
        }
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with self._output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{self._case['users']} participants: {name} took {seconds:.1f} s", flush=True)

    def _spent(self) -> dict[str, float]:
        """Processor seconds by kind: of services with their ended children, and of ended commands."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent: dict[str, float] = defaultdict(float, {"commands": ended.ru_utime + ended.ru_stime})
        for kind, each in look({**self._federation.processes(), self._relays.pid: "relays"}):
            if kind != "work":
                spent[kind] += each.cpu
        return dict(spent)

    def _now(self) -> dict[str, dict[str, int]]:
        """Memory by kind, as it is now."""
        by_kind: dict[str, list[Usage]] = defaultdict(list)
        for kind, each in look(self._federation.processes()):
            by_kind[kind].append(each)
        return {
            kind: {
                "count": len(found),
                "with torch": sum(each.torch for each in found),
                "least rss": min(each.rss for each in found),
                "most rss": max(each.rss for each in found),
                "pss": sum(each.pss for each in found),
            }
            for kind, found in by_kind.items()
        }


def look(processes: dict[int, str]) -> list[tuple[str, Usage]]:
    found = ((kind, usage(pid)) for pid, kind in processes.items())
    return [(kind, each) for kind, each in found if each is not None]


def same(line: dict[str, Any], case: dict[str, Any]) -> bool:
    return all(line.get(key) == value for key, value in case.items())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def free_port() -> int:
    with take_port() as port:
        return port.number


def wait(condition: Callable[[], bool], seconds: float) -> None:
    """Looks until a condition holds; again, as services do, where a node drops the connection."""
    limit = time.monotonic() + seconds
    while not met(condition):
        if time.monotonic() > limit:
            raise SystemExit("the federation does not get on: see the logs in its folder")
        time.sleep(LOOK_SECONDS)


def met(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except NodeError as error:
        print(f"  looks again: {error}", file=sys.stderr, flush=True)
        return False


def command(
    federation: LocalFederation, *arguments: str | Path | int, participant: str = "participant-1"
) -> Any:
    """Runs a participant's command; returns its JSON."""
    words = ("--passphrase-file", federation.words(participant), "--json")
    done = subprocess.run(
        [sys.executable, "-m", "blockful_py.cli.main", *map(str, (*arguments, *words))],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{arguments[1]} failed: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def observer(federation: LocalFederation) -> ParticipantService:
    """Participant 1's view of the record."""
    folder = ParticipantFolder(federation.party("participant-1"))
    keys = folder.keys(federation.words("participant-1").read_text().strip())
    return ParticipantService(folder, keys, ChildProcesses(MODULE))


def measure(users: int, rounds: int, options: argparse.Namespace) -> None:
    case = {"label": options.label, "users": users, "rounds": rounds, "wave": options.wave or 5}
    federation = MeasuredFederation(options.folder / f"{options.label}-{users}-{rounds}")
    sets = (f"federation.users={users}", f"federation.rounds={rounds}", f"federation.wave={case['wave']}")
    sets += tuple(options.overrides or ())
    one = federation.party("participant-1")
    try:
        with Relays(federation.relays()) as relays:
            measured = Measurement(federation, relays, options.output, case)
            if measured.is_done("up"):
                federation.up(SETTINGS, sets, MEMBERS)
            else:
                with measured.stage("up"):
                    federation.up(SETTINGS, sets, MEMBERS)
            with observer(federation) as seen:
                for number in range(1, rounds + 1):
                    if not measured.is_done(name := f"round {number}"):
                        begun = len(seen.catalogue().models)
                        with measured.stage(name) as more:
                            wait(partial(has_models, seen, number * users), 7200)
                            more["published"] = len(seen.catalogue().models) - begun
                if not measured.is_done("idle"):
                    time.sleep(10)
                    with measured.stage("idle"):
                        time.sleep(IDLE_SECONDS)
                if not measured.is_done("request"):
                    with measured.stage("request") as more:
                        asked = ("participant", "request", one, "--start", f"r{seen.user}", "--class", "3")
                        number = command(federation, *asked)["request"]
                        wait(lambda: is_done(seen, number), 7200)
                        now = seen.catalogue().models.values()
                        more["replaced"] = sum(each.version > 0 for each in now)
                if not measured.is_done("certificate"):
                    with measured.stage("certificate"):
                        file = federation.folder / "erasure.json"
                        number = seen.contracts.participants.filed_requests()[-1].number
                        command(federation, "participant", "certificate", one, number, "--output", file)
    finally:
        federation.down()


def has_models(seen: ParticipantService, count: int) -> bool:
    return len(seen.catalogue().models) >= count


def is_done(seen: ParticipantService, number: int) -> bool:
    (status,) = (each for each in seen.statuses(seen.catalogue()) if each.number == number)
    if status.problem is not None or status.stage in (RequestStage.LAPSED, RequestStage.DISMISSED):
        raise SystemExit(str(status))
    return status.stage is RequestStage.CARRIED_OUT


def render(output: Path) -> None:
    output.with_suffix(".md").write_text(markdown(lines(output)), encoding="utf-8")


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("users", type=int, nargs="*", default=[5, 10, 30])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--wave", type=int, help="models that train side by side")
    parser.add_argument("--label", default="federation", help="name of the case in the figures")
    parser.add_argument("--set", dest="overrides", action="append", help="section.key=value")
    parser.add_argument("--folder", type=Path, default=Path(".blockful/benchmark"))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--render-only", action="store_true")
    options = parser.parse_args(None if arguments is None else list(arguments))
    if sys.dont_write_bytecode and not options.render_only:
        raise SystemExit("unset PYTHONDONTWRITEBYTECODE: every process would compile its modules again.")
    for users in () if options.render_only else options.users:
        measure(users, options.rounds, options)
    render(options.output)


if __name__ == "__main__":
    main()
