# SPDX-License-Identifier: Apache-2.0
"""Trains models of several federations in common stacks, although each federation waits for its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import TypeVar

from blockful_lab.experiments.machine import THREADS
from blockful_py.learning.device import use_threads
from blockful_py.learning.models import Architecture
from blockful_py.learning.together import Fitter, TrainingJob, fit_together
from blockful_py.learning.training import Fitted

T = TypeVar("T")


def side_by_side(works: Iterable[Callable[[Fitter], T]]) -> list[T]:
    """Runs each work with a fitter of its own, and returns their results.

    A work is a thread.  Once every thread waits for models or is done, all awaited models train at once.  A
    model's bits do not depend on its companions, so neither do the results.

    Raises the first error of a work, after all are done.
    """
    listed = tuple(works)
    if not listed:
        return []
    gathering = _Gathering(len(listed))

    def carried_out(work: Callable[[Fitter], T]) -> T:
        use_threads(THREADS)
        try:
            return work(gathering.fit)
        finally:
            gathering.leave()

    with ThreadPoolExecutor(len(listed)) as pool:
        return [future.result() for future in [pool.submit(carried_out, work) for work in listed]]


class _Waiting:
    """The models that one thread waits for."""

    def __init__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> None:
        self.architecture, self.jobs = architecture, tuple(jobs)
        self.fitted: tuple[Fitted, ...] | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        return self.fitted is not None or self.error is not None


class _Gathering:
    """The last thread to arrive, or to leave, trains for all that wait.  One architecture serves all."""

    def __init__(self, threads: int) -> None:
        self._working = threads
        self._waiting: list[_Waiting] = []
        self._changed = Condition()

    def fit(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        order = _Waiting(architecture, jobs)
        with self._changed:
            self._waiting.append(order)
            self._train_if_all_wait()
            self._changed.wait_for(lambda: order.done)
        if order.fitted is None:
            raise order.error or RuntimeError("nothing was trained")
        return order.fitted

    def leave(self) -> None:
        with self._changed:
            self._working -= 1
            self._train_if_all_wait()

    def _train_if_all_wait(self) -> None:
        if not self._waiting or len(self._waiting) < self._working:
            return
        orders, self._waiting = self._waiting, []
        try:
            jobs = [job for order in orders for job in order.jobs]
            fitted = iter(fit_together(orders[0].architecture, jobs))
            for order in orders:
                order.fitted = tuple(next(fitted) for _ in order.jobs)
        except Exception as error:
            for order in orders:
                order.error = error
        self._changed.notify_all()
