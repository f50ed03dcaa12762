# SPDX-License-Identifier: Apache-2.0
"""Tasks of the open job: each is a step of its journal, done once its result is recorded there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blockful_py.closable import Closable
from blockful_py.engine.engine import Engine, Order
from blockful_py.engine.jobs import Act, PlannedStep, Step, StepState
from blockful_py.engine.journal import Journal, StepResult
from blockful_py.engine.tasks import MAX_FILE_BYTES, EngineTask
from blockful_py.engine.worker import result_of
from blockful_py.errors import BlockNotFoundError, IntegrityError, RunError
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.store import ContentStore


class JournaledTasks(Closable):
    """Runs each task once, even if the driver is interrupted and started again.

    Attributes:
        store: holds the tasks' inputs and results.
    """

    def __init__(self, engine: Engine, store: ContentStore, journal: Journal) -> None:
        self.store = store
        self._engine = engine
        self._journal = journal

    @property
    def counts_cards(self) -> bool:
        """See Engine."""
        return self._engine.counts_cards

    def results(self, tasks: Sequence[EngineTask]) -> Iterator[tuple[int, bytes]]:
        """Yields each task's position and result: known results first, then new ones as they arrive.

        Raises EngineError if no worker can run a task, and any error of the tasks' functions.
        """
        places: dict[str, list[int]] = {}
        for place, task in enumerate(tasks):
            places.setdefault(task.key, []).append(place)
        steps = self._steps()
        for key in list(places):
            result = self._known(steps.get(key))
            if result is not None:
                yield from ((place, result) for place in places.pop(key))
        yield from self._carried_out({key: tasks[at[0]] for key, at in places.items()}, steps, places)

    def close(self) -> None:
        self._engine.close()

    def _carried_out(
        self,
        tasks: Mapping[str, EngineTask],
        steps: Mapping[str, Step],
        places: Mapping[str, Sequence[int]],
    ) -> Iterator[tuple[int, bytes]]:
        if not tasks:
            return
        fresh = [key for key in tasks if key not in steps]
        plans = [PlannedStep(Act.COMPUTE, tasks[key].title, {"key": key}) for key in fresh]
        taken = {**steps, **dict(zip(fresh, self._journal.plan(plans, 0), strict=True))}
        self._journal.take([taken[key] for key in tasks])
        orders = {
            key: Order(task.order(self.store.directory.resolve()), task.title, task.cpus, task.gpu)
            for key, task in tasks.items()
        }
        for key, answer in self._engine.answers(orders):
            cid = result_of(answer)
            result = self.store.read(parse_cid(cid), MAX_FILE_BYTES)
            self._journal.finish(taken[key], StepResult(body={"result": cid}))
            yield from ((place, result) for place in places[key])

    def _steps(self) -> dict[str, Step]:
        """The open job's tasks, by key."""
        job = self._journal.open_job()
        if job is None:
            raise RunError("no job is open: begin one before its tasks.")
        return {step.body["key"]: step for step in job.valid if step.act is Act.COMPUTE}

    def _known(self, step: Step | None) -> bytes | None:
        """The stored result of a finished task; None if the task has to run again."""
        if step is None or step.state is not StepState.DONE:
            return None
        try:
            return self.store.read(parse_cid(step.body["result"]), MAX_FILE_BYTES)
        except (BlockNotFoundError, IntegrityError):
            return None
