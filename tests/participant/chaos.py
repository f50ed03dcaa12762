# SPDX-License-Identifier: Apache-2.0
"""Strikes live federations at random: whether they lose or repeat work, and their time to recover.

    python -m tests.participant.chaos --trials 50 --seed 1 --out chaos.json
    python -m tests.participant.chaos --table benchmarks/results/figures.jsonl

Needs root, network namespaces and Anvil.  In each trial, a federation publishes models or executes a request
while one to three calamities (`calamities.py`) strike its parties, at steps of the work or at any time.  The
invariants (`whole.py`) are then checked.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from blockful_py.errors import BlockfulError
from blockful_py.participant.folder import LIMITS
from blockful_py.types import Paradigm
from tests.participant.calamities import KINDS, Calamity, draw, services, strike
from tests.participant.partitions import Hosts, on_hosts, told
from tests.participant.processes import Terms
from tests.participant.steps import Stop
from tests.participant.whole import Ledger, Work, read_by

NAMES = ("one", "two", "three")
ROUNDS = 3
SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "federation": {
        "scenario": "organic",
        "graph": None,
        "users": len(NAMES),
        "rounds": ROUNDS,
        "wave": 2,
        "candidates": 2,
        "references": 1,
        "candidate_window": 4,
    },
    "unlearning": {"starts": ("r1",)},
}
DISK = 48
"""MiB of each party's disk."""
PER_FEDERATION = 10
"""Trials with a common federation, unless one fails."""
HEIRS = 2
"""Maximum number of descendants of a request's start, if there is a choice."""
PATIENCE = 1800.0
"""Seconds for each wait of a trial; long, since a busy machine is slow."""
GUESS = (15.0, 90.0)
"""Estimated seconds of the first work, and maximum of any, to choose the moments of calamities."""
POLL, LOOK = 0.1, 3.0


Trial = dict[str, Any]
"""The result of a trial: its calamities, times and problems.

Attributes:
    calamities: kind, party and start of each (seconds after the work began), and whether it met the work.
    done_meanwhile: whether the work was done before the last calamity was over.
    step, end, even: seconds from the end of the last calamity to the next block of either chain, to the
        end of the work, and until all members had exactly the keys and files that they should have.
    begun, filed_again: pieces of work that participants began; failures of the command that files a request.
"""


class Ground:
    """A federation that is struck again and again."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts, self.federation = hosts, hosts.federation
        self.ledger = Ledger(hosts.federation)
        self.requests: list[Work] = []
        self.took: dict[str, float] = {}
        self._filing: BaseProcess
        self._looked: tuple[tuple[int, ...] | None, float] = (None, 0.0)

    def choose(self, rng: random.Random) -> Work:
        with self.federation.watched() as record:
            catalogue, plan = record.catalogue(), record.setup.federation.plan()
        before = {name: placed.version for name, placed in catalogue.models.items()}
        waves = [[spec.name for spec in wave if spec.name not in before] for wave in plan]
        ready = next(filter(None, waves), [])
        if ready and (len(before) < 2 or rng.random() < 0.5):
            return Work("publication", tuple(rng.sample(ready, rng.randint(1, len(ready)))), (), before)
        heirs = {name: tuple(sorted(catalogue.graph.descendants([name]))) for name in before}
        most = max(HEIRS, min(map(len, heirs.values())))
        start = rng.choice([name for name in before if len(heirs[name]) <= most])
        number = len(self.requests) + 1
        if rng.choice([*Paradigm]) is Paradigm.PARALLEL:
            return Work("parallel", (start,), heirs[start], before, number)
        return Work("sequential", (start, *heirs[start]), (), before, number)

    def begin(self, work: Work) -> None:
        """Lets participants publish, or files a request."""
        if work.request:
            self.requests.append(work)
            self._file(work)
            return
        for name in work.models:
            self.allow(*_owner(name))
        self.federation.nodes.live.rpc.call("evm_mine")  # participants look where a block is new

    def _file(self, work: Work) -> None:
        participant, forgotten = self.federation.participants[_owner(work.models[0])[0]], work.request % 10
        words = ("--start", work.models[0], "--class", str(forgotten), "--paradigm", work.kind)
        self._filing = participant.begin_run("request", *words)

    def _file_again(self, trial: Trial, work: Work) -> None:
        """Files a request again after its command failed before the filing."""
        if not work.request or self._filing.exitcode in (None, 0):
            return
        with suppress(BlockfulError):
            if len(self.federation.contracts.participants.filed_requests()) < work.request:
                self._file(work)
                trial["filed_again"] += 1

    def allow(self, name: str, models: int) -> None:
        """Allows a participant a total number of published models."""
        participant = self.federation.participants[name]
        partial = participant.folder / "limits-partial"
        partial.write_text(f"models = {models}\n", encoding="utf-8")
        participant.confinement.own(partial)
        partial.rename(participant.folder / LIMITS)

    def stops(self, step: str | None) -> list[Stop]:
        """Makes the party that comes to a step stop there."""
        return (
            [] if step is None else [Stop(each.folder, step) for each in services(self.federation).values()]
        )

    def strike(self, trial: Trial, work: Work, drawn: Sequence[Calamity], stops: Sequence[Stop]) -> None:
        """Strikes during the work; returns when all calamities are over."""
        begun = time.monotonic()
        guess = min(GUESS[1], self.took.get(work.kind, GUESS[0]))
        waiting, struck = list(drawn), list[tuple[float, ExitStack]]()
        with ExitStack() as lasting:
            while waiting or struck:
                now = time.monotonic()
                require(now < begun + PATIENCE, "the calamities are not over")
                for over, calamity in [each for each in struck if each[0] <= now]:
                    calamity.close()
                    struck.remove((over, calamity))
                self._file_again(trial, work)
                reached = any(stop.is_reached() for stop in stops)
                is_over = not reached and not struck and self.is_done(work)
                for each in list(waiting):
                    due = reached if each.step and stops else now >= begun + each.moment * guess
                    if due or is_over:
                        waiting.remove(each)
                        calamity = lasting.enter_context(ExitStack())
                        party = strike(self.hosts, each, calamity)
                        struck.append((time.monotonic() + each.seconds, calamity))
                        at = {"at": round(now - begun, 1), "met": not is_over}
                        trial["calamities"].append({**asdict(each), "party": party, **at})
                if reached or is_over:
                    _let_go(stops)
                    stops = ()
                time.sleep(POLL)

    def recover(self, trial: Trial, work: Work) -> None:
        """Waits until the work is done and the members are even, and measures the time."""
        over, state = time.monotonic(), self._state()

        def wait(until: Callable[[], bool], told: Callable[[], str], pause: float) -> float:
            while not until():
                self._require_alive()
                require(time.monotonic() < over + PATIENCE, told())
                time.sleep(pause)
            return round(time.monotonic() - over, 1)

        def is_done() -> bool:
            if trial["step"] is None and state is not None and self._state() not in (None, state):
                trial["step"] = round(time.monotonic() - over, 1)
            self._file_again(trial, work)
            return self.is_done(work)

        trial["done_meanwhile"] = self.is_done(work, at_once=True)
        trial["end"] = wait(is_done, lambda: f"{work.kind} of {work.models} is not done", POLL)
        for service in services(self.federation).values():
            if not service.told:
                service.ready()
        trial["even"] = wait(lambda: not self._lacking(), lambda: "; ".join(self._lacking()), LOOK)
        trial["begun"], twice = self.ledger.trained()
        trial["problems"] += [*self.ledger.broken(work), *twice]

    def certify(self, work: Work) -> list[str]:
        """Faults of the certificate of a finished request, whose models later requests may replace."""
        try:
            certified = self.federation.certified(_owner(work.models[0])[0], work.request)
        except (AssertionError, BlockfulError) as error:
            return [f"{work} is not certified: {error}"]
        if {*work.models} <= certified <= {*work.models, *work.passed}:
            return []
        return [f"the certificate of {work} names {certified}"]

    def close(self) -> list[str]:
        """Faults in the end: a reader reads every model."""
        return read_by(self.federation, NAMES[-1])

    def is_done(self, work: Work, at_once: bool = False) -> bool:
        """Looks after changes on the chains, and now and then; with `at_once`, immediately."""
        state, now = self._state(), time.monotonic()
        if not at_once and (state is None or state == self._looked[0]) and now < self._looked[1] + LOOK:
            return False
        self._looked = (state, now)
        with suppress(BlockfulError):
            return work.is_done(self.federation)
        return False

    def _state(self) -> tuple[int, int] | None:
        """The newest block of each chain; None while a chain is away."""
        with suppress(BlockfulError):
            return self.federation.nodes.archive.block_number(), self.federation.nodes.live.block_number()
        return None

    def _lacking(self) -> list[str]:
        try:
            return self.ledger.lacking()
        except BlockfulError as error:
            return [str(error)]

    def _require_alive(self) -> None:
        for name, service in services(self.federation).items():
            alive = service.process is not None and service.process.is_alive()
            code = None if service.process is None else service.process.exitcode
            require(alive, f"{name} ended by itself with {code}: {service.reported()[-2000:]}")


@contextmanager
def ground() -> Iterator[Ground]:
    """A federation without published models."""
    with on_hosts(terms=Terms(NAMES, SECTIONS, DISK)) as hosts:
        struck = Ground(hosts)
        for name, participant in hosts.federation.participants.items():
            struck.allow(name, 0)
            participant.begin("in steps")
        for participant in hosts.federation.participants.values():
            participant.ready()
        yield struck


def try_once(struck: Ground, number: int, kind: str, rng: random.Random) -> Trial:
    """One trial, with a calamity of a kind, and perhaps others."""
    begun, work = time.monotonic(), struck.choose(rng)
    trial: Trial = {"number": number, "work": work.kind, "models": work.models, "calamities": []}
    trial |= {"done_meanwhile": False, "step": None, "end": None, "even": None}
    trial |= {"begun": 0, "filed_again": 0, "problems": []}
    drawn = draw(rng, kind, work.kind, struck.federation)
    try:
        stops = struck.stops(drawn[0].step)
        struck.begin(work)
        struck.strike(trial, work, drawn, stops)
        struck.recover(trial, work)
        struck.took[work.kind] = time.monotonic() - begun
        trial["problems"] += struck.certify(work) if work.request else []
    except Exception as error:
        trial["problems"].append(
            _without_places(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        )
    return {**trial, "seconds": round(time.monotonic() - begun, 1), "load": round(os.getloadavg()[1], 1)}


def run(trials: int, seed: int, out: Path, logs: Path) -> int:
    """Runs the trials and writes the results after each; returns the number of trials with problems."""
    results: list[Trial] = []
    ends: list[dict[str, Any]] = []
    kinds = [*KINDS]
    while len(results) < trials:
        first = len(results)
        with ground() as struck:
            while len(results) < min(first + PER_FEDERATION, trials):
                turn = len(results)
                rng = random.Random(f"{seed}/{turn}")
                if turn % len(kinds) == 0:
                    rng.shuffle(kinds)
                results.append(try_once(struck, turn + 1, kinds[turn % len(kinds)], rng))
                told(json.dumps(results[-1]))
                if results[-1]["problems"]:
                    break
            problems = results[-1]["problems"] or struck.close()
            ends.append({"trials": len(results) - first, "problems": problems})
            if problems:
                told("\n".join(problems))
                _keep_logs(struck, logs / str(len(ends)))
        document = {"seed": seed, "trials": results, "federations": ends}
        out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return sum(bool(each["problems"]) for each in ends)


def table(trials: Sequence[Mapping[str, Any]]) -> str:
    """Recovery times of federations, by kind of calamity."""
    rows = {kind: [each for each in trials if _struck_by(each) == [kind]] for kind in KINDS}
    rows |= {"two or three at once": [each for each in trials if len(_struck_by(each)) > 1], "all": [*trials]}
    lines = ["| struck by | trials | done meanwhile | next transaction | work done | members even |"]
    lines.append("|---|---|---|---|---|---|")
    for name, among in rows.items():
        late = [each for each in among if not each["done_meanwhile"]]
        figures = (_figures(late, "step"), _figures(late, "end"), _figures(among, "even"))
        lines.append(f"| {name} | {len(among)} | {len(among) - len(late)} | {' | '.join(figures)} |")
    return "\n".join(lines)


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _without_places(text: str) -> str:
    """A traceback or a log without this machine's folders."""
    for folder in (Path(__file__).parents[2], Path(sys.prefix), Path(sys.base_prefix), Path.home()):
        text = text.replace(f"{folder}/", "")
    return text


def _owner(model: str) -> tuple[str, int]:
    """The participant that publishes a model, and its round."""
    turn = int(model[1:]) - 1
    return NAMES[turn % len(NAMES)], turn // len(NAMES) + 1


def _let_go(stops: Sequence[Stop]) -> None:
    """Removes all stops, so that stopped parties continue."""
    for stop in stops:
        stop.withdraw()
        with suppress(ProcessLookupError, FileNotFoundError):  # it was killed, or never stopped
            stop.go_on()


def _keep_logs(struck: Ground, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for name, service in services(struck.federation).items():
        (to / f"{name}.log").write_text(service.reported(), encoding="utf-8")


def _struck_by(trial: Mapping[str, Any]) -> list[str]:
    return [each["kind"] for each in trial["calamities"]]


def _figures(trials: Sequence[Mapping[str, Any]], key: str) -> str:
    """Median and worst."""
    values = [each[key] for each in trials if each[key] is not None]
    return f"{statistics.median(values):.0f} s, {max(values):.0f} s" if values else ""


def stored(path: Path) -> list[dict[str, Any]]:
    """The runs in a file of one run, or in a file of the figures of many benchmarks, one a line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".jsonl":
        return [json.loads(text)]
    lines = map(json.loads, text.splitlines())
    return [each["figures"] for each in lines if each["benchmark"].startswith("chaos_")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/chaos.json"), help="what came of each trial")
    parser.add_argument("--logs", type=Path, default=Path("build/chaos"), help="logs of those that failed")
    parser.add_argument(
        "--table", type=Path, nargs="+", help="only print the table of such files, or of figures.jsonl"
    )
    options = parser.parse_args()
    if options.table:
        told(table([trial for each in options.table for run in stored(each) for trial in run["trials"]]))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    return int(run(options.trials, options.seed, options.out, options.logs) > 0)


if __name__ == "__main__":
    sys.exit(main())
