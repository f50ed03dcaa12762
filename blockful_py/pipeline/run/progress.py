# SPDX-License-Identifier: Apache-2.0
"""How long work is shown, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Shows a stage while it runs; the value of the context manager advances it by n steps."""

    def stage(self, title: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]: ...


class Silent:
    """Shows nothing."""

    @contextmanager
    def stage(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        yield lambda steps: None


class Stopwatch:
    """Seconds spent in named stages; a stage that runs again adds up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun
