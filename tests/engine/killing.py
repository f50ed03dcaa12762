# SPDX-License-Identifier: Apache-2.0
"""Kills workers, drivers, nodes and heads at random moments; the results must equal this process's.

python -m tests.engine.killing --engine ray --kills 32
python -m tests.engine.killing --engine processes --victims worker driver --kills 32
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from blockful_py.engine.journal import Journal
from blockful_py.settings import EngineSettings
from tests.engine.clusters import ENVIRONMENT, LIMIT, ROOT, Cluster, descendants, kill, title, until
from tests.engine.driver import drive

CPUS = 2
VICTIMS = ("worker", "driver", "node", "head")
SECONDS = 4.0
"""Duration of a task in seconds, until the last kill."""
TASKS = 25
"""Tasks for each kill, so that others continue while a part is restarted."""


class Ordeal:
    """A driver in `folder`, and its engine (local processes or a cluster), whose parts are killed."""

    def __init__(self, folder: Path, count: int, cluster: Cluster | None = None) -> None:
        self._folder, self._count, self._cluster = folder, count, cluster
        self._driver = self._started()

    def kill(self, victim: str, chance: random.Random) -> None:
        """Kills a worker, the driver, a node or the head during the tasks; then restarts it."""
        self._await_work()
        time.sleep(chance.uniform(0, SECONDS))
        if victim == "worker":
            until(lambda: bool(self._workers()), "a worker is busy")
            kill(chance.choice(self._workers()))
        elif victim == "driver":
            self._driver.kill()
        elif self._cluster is not None and victim == "node":
            self._cluster.kill_node()
        elif self._cluster is not None:
            self._cluster.kill_head()
        if victim in ("driver", "head"):
            self._driver.wait(LIMIT)  # who loses the head ends by itself
        if self._cluster is not None:
            self._cluster.start()
        if self._driver.poll() is not None:
            self._driver = self._started()

    def finish(self) -> None:
        assert self._driver.wait(LIMIT) == 0, self._said()

    def _workers(self) -> list[int]:
        if self._cluster is not None:
            return self._cluster.workers()
        return [pid for pid in descendants(self._driver.pid) if "spawn_main" in title(pid)]

    def _await_work(self) -> None:
        before = calls(self._folder)
        until(lambda: calls(self._folder) > before or self._driver.poll() is not None, "a task begins")
        assert self._driver.poll() is None, self._said()

    def _said(self) -> str:
        return (self._folder / "driver.log").read_text()[-3000:]

    def _started(self) -> subprocess.Popen[bytes]:
        engine: dict[str, object] = {"kind": "processes", "workers": CPUS}
        if self._cluster is not None:
            engine = {"kind": "ray", "address": self._cluster.address}
        words = ["-m", "tests.engine.driver", json.dumps(engine), str(self._folder), str(self._count)]
        with (self._folder / "driver.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *words], stdout=log, stderr=subprocess.STDOUT, env=ENVIRONMENT, cwd=ROOT
            )


def survive(folder: Path, victims: Sequence[str], chance: random.Random, *, ray: bool) -> str:
    """Has tasks executed while the victims are killed one after the other; returns a summary.

    Raises AssertionError when a result is missing, wrong or noted twice, or when more tasks were repeated
    than were running.
    """
    began, count = time.monotonic(), TASKS * len(victims)
    here, there = folder / "here", folder / "there"
    for inner, seconds in ((here, 0.0), (there, SECONDS)):
        inner.mkdir()
        (inner / "seconds").write_text(str(seconds))
    expected = drive(EngineSettings(), here, count)
    with ExitStack() as stack:
        ordeal = Ordeal(there, count, stack.enter_context(Cluster(folder)) if ray else None)
        for victim in victims:
            ordeal.kill(victim, chance)
        (there / "seconds").write_text("0")
        ordeal.finish()
    repeated = calls(there) - count
    assert drive(EngineSettings(), there, count) == expected  # reads the notes
    assert calls(there) == count + repeated
    assert noted(there) == Counter(range(1, count + 1))
    assert 0 <= repeated <= 2 * CPUS * len(victims)
    return (
        f"{count} tasks, {len(victims)} kills {dict(Counter(victims))}: the same results, each noted once; "
        f"{repeated} were begun again; {time.monotonic() - began:.0f} s"
    )


def calls(folder: Path) -> int:
    """Number of starts of each task on the cluster."""
    path = folder / "calls"
    return path.read_text().count("\n") if path.exists() else 0


def noted(folder: Path) -> Counter[int]:
    """Number of times that the journal records each step as done."""
    with Journal(folder / "journal.sqlite") as journal, journal._transaction() as connection:
        entries = [row[0] for row in connection.execute("SELECT content FROM entry")]
    told = [json.loads(entry) for entry in entries]
    return Counter(entry["step"] for entry in told if entry["entry"] == "done")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("processes", "ray"), default="ray")
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=VICTIMS)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    shuffled = [given.victims[i % len(given.victims)] for i in range(given.kills)]
    chance.shuffle(shuffled)
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(survive(Path(folder), shuffled, chance, ray=given.engine == "ray") + "\n")
