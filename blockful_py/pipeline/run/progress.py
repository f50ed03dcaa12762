# SPDX-License-Identifier: Apache-2.0
"""Progress and duration of stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Shows a stage while it runs."""

    def stage(
        self, title: str, total: int | None, unit: str = "models"
    ) -> AbstractContextManager[Callable[[int], None]]:
        """Shows a stage; the context manager's value advances it by n steps of `total`, None if uncounted.

        `unit`: name of the steps, in plural.  Stages must not be nested.
        """


class Silent:
    """Shows nothing."""

    @contextmanager
    def stage(self, title: str, total: int | None, unit: str = "models") -> Iterator[Callable[[int], None]]:
        yield lambda steps: None


class Stopwatch:
    """Seconds spent in named stages, summed over repetitions of a stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun
