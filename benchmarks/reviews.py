# SPDX-License-Identifier: Apache-2.0
"""One parallel request over many models whose members share a process, by stage.

    python -m benchmarks.reviews [--models 100] [--members 4] [--repeats 3] [--block-time 0]

All models inherit from one and are replaced under one certificate; each repeat makes them forget another
class.  Seconds by the clock, and of this process's processors: only the first counts chains in processes of
their own.

    unlearn   the new weights                     review   every member recomputes and measures
    audit     the claims in the new model nodes   collide  nonces, attestations, shares: the collisions
    store     adding weights and nodes            vote     every opening verified, the certificates
    archive, live   the transactions              confirm  asking the chains for every transaction
    forget    deleting the replaced files         erase    destroying their keys
    certificate  of the erasure, which every member checks in full; certify: the rest of the decision
    verify    the record, as anybody checks it

Beside the seconds, the calls that the nodes answered in the first request.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.chains import add_options, chains
from benchmarks.instruments import replaced
from benchmarks.redaction import graph
from blockful_py.chain.rpc import JsonRpc
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.member import Member
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.lifecycle import JobLifecycle
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.settings import Settings

CALLS: tuple[tuple[type, str, str], ...] = (
    (Member, "approve", "review"),
    (Coordinator, "_collide", "collide"),
    (Coordinator, "_decide", "vote"),
    (Coordinator, "release", "vote"),
    (JobLifecycle, "confirm", "confirm"),
    (JobLifecycle, "forget", "forget"),
    (JobLifecycle, "erase", "erase"),
)
"""Calls that are a stage of their own; a stage within another counts for itself alone."""

Seconds = dict[str, tuple[float, float]]
"""By stage: by the clock, and of the processors."""
Calls = Counter[str]
"""Calls to the nodes by stage, without calls to embedded chains."""


@dataclass
class Stages:
    """Time of each stage; a stage that another interrupts goes on afterwards."""

    seconds: Seconds = field(default_factory=dict)
    calls: Calls = field(default_factory=Counter)
    _open: list[str] = field(default_factory=list)
    _since: tuple[float, float] = (0.0, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        self._spend()
        self._open.append(stage)
        try:
            yield
        finally:
            self._spend()
            self._open.pop()

    def _spend(self) -> None:
        now = (perf_counter(), process_time())
        if self._open:
            clock, processors = self.seconds.get(self._open[-1], (0.0, 0.0))
            spent = (now[0] - self._since[0], now[1] - self._since[1])
            self.seconds[self._open[-1]] = (clock + spent[0], processors + spent[1])
        self._since = now

    @contextmanager
    def watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, stage in CALLS:
                stack.enter_context(replaced(owner, name, self._timed(getattr(owner, name), stage)))
            stack.enter_context(replaced(Stopwatch, "__call__", lambda _, stage: self(stage)))
            stack.enter_context(replaced(JsonRpc, "batch", self._counted(JsonRpc.batch)))
            yield

    def _timed(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            with self(stage):
                return call(*given, **named)

        return timed

    def _counted(self, batch: Callable[..., Any]) -> Callable[..., Any]:
        def counted(rpc: JsonRpc, calls: Sequence[Any]) -> Any:
            self.calls[self._open[-1]] += len(calls)
            return batch(rpc, calls)

        return counted


def settings(models: int, members: int) -> Settings:
    return Settings.parse(
        {
            "federation": {
                "scenario": "scripted",
                "situation": "all_hold",
                "users": models,
                "graph": graph(models),
            },
            "learning": {"epochs": 1, "root_factor": 1},
            "unlearning": {
                "starts": ("r1",),
                "classes": (0,),
                "parallel": "gradient_ascent",
                "sequential": "retrain",
            },
            "committee": {"size": members},
            "chain": {"packaging_interval": 0},
        }
    )


def request(federation: Federation, forget: int) -> tuple[Seconds, Calls]:
    """Time of one request, its certificate and a check of the record, by stage and in all."""
    stages = Stages()
    with stages.watching():
        with stages("the rest"):
            unlearned = federation.unlearn(classes=(forget,))
        with stages("certificate"):
            federation.certify_erasure(unlearned.request)
        with stages("verify"):
            assert federation.verify().passed
    assert len(unlearned.nodes) == len(federation.settings.federation.names)
    found = stages.seconds
    whole = (sum(clock for clock, _ in found.values()), sum(each for _, each in found.values()))
    calls = stages.calls
    return {**found, "in all": whole}, calls | Counter({"in all": calls.total()})


def measure(
    models: int, members: int, repeats: int, devnet: str, block_time: int
) -> list[tuple[Seconds, Calls]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        chains(devnet, block_time, Path(folder) / "chains") as nodes,
        Federation.create(settings(models, members), Path(folder) / "run", nodes=nodes) as federation,
    ):
        federation.train()
        return [request(federation, forget) for forget in range(repeats)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=100, help="models that are replaced (default 100)")
    parser.add_argument("--members", type=int, default=4, help="members in this process (default 4)")
    parser.add_argument("--repeats", type=int, default=3, help="requests, at most 10 (default 3; median)")
    add_options(parser, "ganache")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    measured = measure(options.models, options.members, options.repeats, options.devnet, options.block_time)
    runs, calls = [seconds for seconds, _ in measured], measured[0][1]
    print(
        f"{options.models} models, {options.members} members, {options.devnet}, "
        f"block time {options.block_time}, load {os.getloadavg()[0]:.1f}"
    )
    heads = f"{'s: median':>10}{'least':>9}{'most':>9}{'processors':>12}{'least':>9}{'most':>9}{'calls':>8}"
    print(f"{'':12}{heads}")
    for stage in runs[0]:
        clock, processors = zip(*(run.get(stage, (0.0, 0.0)) for run in runs), strict=True)
        shown = [f(each) for each in (clock, processors) for f in (median, min, max)]
        print(
            f"{stage:12}{shown[0]:10.2f}{shown[1]:9.2f}{shown[2]:9.2f}"
            f"{shown[3]:12.2f}{shown[4]:9.2f}{shown[5]:9.2f}{calls[stage]:8}"
        )
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
        given = {
            name: getattr(options, name) for name in ("models", "members", "repeats", "devnet", "block_time")
        }
        report = {"machine": machine, **given, "seconds": runs, "calls": calls}
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
