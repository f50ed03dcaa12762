# SPDX-License-Identifier: Apache-2.0
"""Seconds to redact models through a committee of member processes, by stage, on two Ganache devnets.

    python -m benchmarks.redaction [--models 100] [--members 4] [--repeats 3]

All models inherit from one and are replaced under one certificate (the parallel paradigm).  Each repeat
makes them forget another class.  The members, the chains and the leader share this machine.

    unlearn   the new weights                      review   every member recomputes them
    audit     the claims in the new model nodes    nonces   round 1
    store     adding, and deleting the old files  shares   round 2, and combining: the collisions
    attests   a quorum binds the nonces to this use
    draft     reading the chain                    votes    every opening verified, the archive's certificate
                                                   archive, live   the transactions
                                                   release  the live chain's certificate
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.instruments import replaced
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.service.remote import RemoteMember
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.settings import ChainSettings, Settings
from tests.member.processes import members

STAGES = {
    "approve": "review",
    "commit": "nonces",
    "attest": "attests",
    "sign": "shares",
    "vote_redaction": "votes",
}
"""Stage of certification that begins when the first member is asked this."""

ORDER = (
    "unlearn",
    "audit",
    "store",
    "draft",
    "review",
    "nonces",
    "attests",
    "shares",
    "votes",
    "archive",
    "release",
    "live",
)
WAVES = 4


class Splits:
    """Seconds of the parts of both certificates, by when the leader begins to ask for each."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", 0.0

    def enter(self, stage: str) -> None:
        """Ends the stage before and begins this one, unless it has begun."""
        if stage != self._stage:
            self.leave()
            self._stage, self._since = stage, perf_counter()

    def leave(self) -> None:
        if self._stage:
            spent = perf_counter() - self._since
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + spent
        self._stage = ""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Splits the certifications of this process."""
        with ExitStack() as stack:
            for name, stage in STAGES.items():
                ask = self._begun_by(getattr(RemoteMember, name), stage)
                stack.enter_context(replaced(RemoteMember, name, ask))
            certify = self._ended(Coordinator.certify_redaction)
            stack.enter_context(replaced(Coordinator, "certify_redaction", certify))
            release = self._ended(self._begun_by(Coordinator.release, "release"))
            stack.enter_context(replaced(Coordinator, "release", release))
            yield

    def _begun_by(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def begun(*given: Any) -> Any:
            self.enter(stage)
            return call(*given)

        return begun

    def _ended(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def ended(*given: Any) -> Any:
            try:
                return call(*given)
            finally:
                self.leave()

        return ended


def graph(models: int) -> dict[str, tuple[str, ...]]:
    """One model, and the others in waves, each with two references in the wave before."""
    waves = [["r1"]]
    rest = [f"r{number}" for number in range(2, models + 1)]
    size = -(-len(rest) // (WAVES - 1))
    waves += [rest[begin : begin + size] for begin in range(0, len(rest), size)]
    found: dict[str, tuple[str, ...]] = {"r1": ()}
    for before, wave in pairwise(waves):
        for place, name in enumerate(wave):
            found[name] = tuple(sorted({before[place % len(before)], before[(place + 1) % len(before)]}))
    return found


def settings(models: int, urls: Sequence[str], classes: tuple[int, ...]) -> Settings:
    return Settings.parse(
        {
            "federation": {
                "scenario": "scripted",
                "situation": "all_hold",
                "users": models,
                "graph": graph(models),
            },
            "learning": {"epochs": 1, "root_factor": 1},
            "unlearning": {"starts": ("r1",), "classes": classes, "parallel": "gradient_ascent"},
            "committee": {
                "roster": "services",
                "members": tuple(urls),
                "size": len(urls),
                "review_seconds": 600,
                "round_seconds": 120,
            },
            "chain": {"packaging_interval": 0},
        }
    )


def redact(federation: Federation, forget: int) -> dict[str, float]:
    """Seconds by stage of one request, and of all of it."""
    splits = Splits()
    with splits.watching():
        begun = perf_counter()
        unlearned = federation.unlearn(classes=(forget,))
        whole = perf_counter() - begun
    assert len(unlearned.nodes) == len(federation.settings.federation.names)
    seconds = dict(unlearned.seconds)
    certify = seconds.pop("certify")
    seconds |= {"draft": certify - sum(splits.seconds.values()), **splits.seconds}
    ordered = {stage: seconds.pop(stage) for stage in ORDER} | seconds
    return {**ordered, "other": whole - sum(ordered.values()), "in all": whole}


def measure(models: int, count: int, repeats: int) -> list[dict[str, float]]:
    """Seconds by stage of each request."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        with (
            Nodes(ChainEndpoints.of(ChainSettings(), base / "chains")) as nodes,
            members(count, base, base / "run", nodes) as processes,
        ):
            chosen = settings(models, [member.url for member in processes], (0,))
            with Federation.create(chosen, base / "run", nodes=nodes) as federation:
                federation.train()
                runs = [redact(federation, forget) for forget in range(repeats)]
                assert federation.verify().passed
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--models", type=int, default=100, help="models that are redacted (default 100)")
    parser.add_argument("--members", type=int, default=4, help="member processes (default 4)")
    parser.add_argument("--repeats", type=int, default=3, help="requests, at most 10 (default 3; median)")
    options = parser.parse_args()
    runs = measure(options.models, options.members, options.repeats)
    print(f"{options.models} models through {options.members} member processes (s: median, least, most)")
    for stage in runs[0]:
        found = [run[stage] for run in runs]
        print(f"  {stage:10}{median(found):10.2f}{min(found):10.2f}{max(found):10.2f}")
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
        given = {name: getattr(options, name) for name in ("models", "members", "repeats")}
        report = {"machine": machine, **given, "seconds": runs}
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
