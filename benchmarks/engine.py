# SPDX-License-Identifier: Apache-2.0
"""Overhead of an engine on tasks of a second: extra wall clock, and the driver's processor time.

A task sleeps, so that the machine's other work matters little.  Its input and its result go through the
store, and it is noted in a journal, as in a job.  Each repeat begins with a task that starts the workers and
does not count.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

from benchmarks.stored import keep
from blockful_py.engine.engine import engine_of
from blockful_py.engine.jobs import Kind
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.settings import EngineSettings
from blockful_py.storage.store import ContentStore

SECONDS = 1.0
SIZE = 150_000
"""Bytes of input and result, about the size of the small network's weights."""


def rests(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction` that takes SECONDS; the result is the input and the seed."""
    sleep(SECONDS)
    return inputs[0] + str(seeds).encode()


def task(store: ContentStore, number: int) -> EngineTask:
    content = store.add(number.to_bytes(4, "big") + bytes(SIZE))
    return EngineTask(f"task {number}", "benchmarks.engine:rests", inputs=(content,), seeds=(number,))


def overhead(settings: EngineSettings, at_once: int, count: int) -> dict[str, float]:
    """Wall clock added to a task of a second, in percent, and the driver's milliseconds of processor time a
    task, of `count` tasks, `at_once` of which run side by side.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = ContentStore(Path(folder) / "store")
        with Journal(Path(folder) / "journal.sqlite") as journal:
            journal.begin(Kind.EXPERIMENT)
            with JournaledTasks(engine_of(settings), store, journal) as tasks:
                dict(tasks.results([task(store, number) for number in range(at_once)]))
                began, spent = perf_counter(), process_time()
                dict(tasks.results([task(store, at_once + number) for number in range(count)]))
                wall, spent = perf_counter() - began, process_time() - spent
    least = SECONDS * -(-count // at_once)
    return {"overhead_percent": 100 * (wall / least - 1), "driver_ms": 1000 * spent / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="host:port of a Ray cluster's head, which is measured too")
    parser.add_argument("--at-once", type=int, default=2, help="workers, or CPUs of the cluster")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    kinds = {
        "here": (EngineSettings(), 1),
        "processes": (EngineSettings("processes", None, given.at_once), given.at_once),
    }
    if given.address:
        kinds["ray"] = (EngineSettings("ray", given.address), given.at_once)
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(given.repeat):
        for kind, (settings, at_once) in kinds.items():
            found[kind].append(overhead(settings, at_once, given.count))
    for kind, rows in found.items():
        for name in rows[0]:
            low, *_, high = values = sorted(row[name] for row in rows)
            print(f"{kind:10} {name:17} median {median(values):6.1f}, {low:.1f} to {high:.1f}")
    if given.output:
        about = {"cores": os.cpu_count(), "python": platform.python_version(), "tasks": given.count}
        keep(given.output, "engine", {**about, "load": os.getloadavg(), "repeats": found})


if __name__ == "__main__":
    main()
