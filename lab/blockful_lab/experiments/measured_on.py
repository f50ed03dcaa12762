# SPDX-License-Identifier: Apache-2.0
"""Measures an experiment's tasks on an engine, in a folder where a rerun continues.

tasks/            the journal and the results of tasks, until all are done
experiment.lock   of the process that measures
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from blockful_py.engine.engine import engine_of
from blockful_py.engine.jobs import JobState, Kind
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import RunError
from blockful_py.file_lock import FileLock
from blockful_py.settings import EngineSettings
from blockful_py.storage.store import ContentStore

HERE = EngineSettings()
"""This process."""


@contextmanager
def measured_on(
    engine: EngineSettings, folder: Path, tasks: Sequence[EngineTask]
) -> Iterator[Iterator[tuple[int, bytes]]]:
    """Yields `JournaledTasks.results`; deletes the tasks after the block.

    Raises RunError if another process measures in the folder or it cannot be written, and EngineError if the
    engine cannot carry out the tasks.
    """
    if not tasks:
        yield iter(())
        return
    inner = folder / "tasks"
    with _locked(folder) as lock:
        store = ContentStore(inner)
        with Journal(inner / "journal.sqlite") as journal:
            if journal.open_job() is None:
                journal.begin(Kind.EXPERIMENT)
            with JournaledTasks(engine_of(engine), store, journal) as carried_out:
                yield carried_out.results(tasks)
            journal.close_job(JobState.DONE)
        shutil.rmtree(inner)
        lock.discard()


def _locked(folder: Path) -> FileLock:
    def held(holder: str) -> RunError:
        return RunError(f"{holder} measures in {folder}: wait until it is done, or choose another folder.")

    try:
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / "experiment.lock", held)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}; choose another place.") from None
