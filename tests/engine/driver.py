# SPDX-License-Identifier: Apache-2.0
"""A driver in a separate process: has an engine execute tasks, and resumes a killed driver's job.

    python -m tests.engine.driver '{"kind": "processes"}' FOLDER TASKS

The file `seconds` of FOLDER has the duration of a task.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from blockful_py.engine.engine import engine_of
from blockful_py.engine.jobs import Kind
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.settings import EngineSettings
from blockful_py.storage.store import ContentStore


def drive(engine: EngineSettings, folder: Path, count: int) -> dict[int, bytes]:
    """Results by position; the job stays open, so that its steps can be inspected."""
    store = ContentStore(folder / "store")
    shared = store.add(b"the same for all")
    tasks = [
        EngineTask(
            title=f"task {number}",
            function="tests.engine.workers:takes_a_while",
            settings={"folder": str(folder)},
            inputs=(shared,),
            seeds=(number,),
        )
        for number in range(count)
    ]
    with Journal(folder / "journal.sqlite") as journal:
        if journal.open_job() is None:
            journal.begin(Kind.EXPERIMENT)
        with JournaledTasks(engine_of(engine), store, journal) as carried_out:
            return dict(carried_out.results(tasks))


if __name__ == "__main__":
    engine, folder, count = sys.argv[1:]
    drive(EngineSettings(**json.loads(engine)), Path(folder), int(count))
