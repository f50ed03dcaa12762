# SPDX-License-Identifier: Apache-2.0
"""Runs the trainings, changes and measurements of the open job on the run's engine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from blockful_py.engine.engine import engine_of
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.errors import RunError
from blockful_py.learning.scoring_task import TaskScorer
from blockful_py.learning.training_task import TaskFitter
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.storage.store import ContentStore
from blockful_py.unlearning.change_task import TaskChanger


@contextmanager
def on_engine(context: FederationContext) -> Iterator[FederationContext]:
    """The context with tasks run on the engine of the settings; unchanged for the engine `here`.

    A job must be open.  Raises EngineError if the engine does not answer, MissingExtraError without its
    package.
    """
    engine = context.run.settings.engine
    if engine.kind == "here":
        yield context
        return
    store = ContentStore(context.run.tasks)
    with JournaledTasks(engine_of(engine), store, context.journal) as tasks:
        setup = context.setup.worked_by(TaskFitter(tasks), TaskScorer(tasks))
        yield replace(context, setup=setup, changer=TaskChanger(tasks))


def clear_tasks(run: RunDirectory) -> None:
    """Deletes tasks' inputs and results: unsealed samples and weights.  Raises RunError on failure."""
    try:
        with suppress(FileNotFoundError):
            shutil.rmtree(run.tasks)
    except OSError as error:
        raise RunError(
            f"{run.tasks} cannot be deleted ({error.strerror}: {error.filename}), and it holds samples and "
            "weights that are not sealed: make it writable for this user, then run `blockful resume`."
        ) from None
