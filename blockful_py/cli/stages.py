# SPDX-License-Identifier: Apache-2.0
"""Shows a running stage and its pace: one changing line on a terminal, a few lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Column
from rich.text import Text

NEEDED = 3
"""Advances needed before a pace is shown."""
WINDOW = 20
SECONDS = 10.0


class StagePace:
    """Tracks a stage's pace over the last `WINDOW` advances, or over the last `SECONDS` if those are more."""

    def __init__(self, now: float) -> None:
        """Starts at `now`, in seconds of a monotonic clock."""
        self._marks: deque[tuple[float, int]] = deque([(now, 0)])
        self._advances = 0

    def advance(self, now: float, done: int) -> None:
        """Records `done` steps since the stage began."""
        self._marks.append((now, done))
        self._advances += 1
        while len(self._marks) > WINDOW + 1 and now - self._marks[1][0] > SECONDS:
            self._marks.popleft()

    def rate(self) -> float | None:
        """Steps per second; None if it is too early to tell."""
        (begun, before), (ended, done) = self._marks[0], self._marks[-1]
        if self._advances < NEEDED or ended <= begun or done <= before:
            return None
        return (done - before) / (ended - begun)

    def remaining(self, now: float, left: int) -> float | None:
        """Seconds that `left` further steps will take; None if it is too early to tell."""
        rate = self.rate()
        if rate is None:
            return None
        since = now - self._marks[-1][0]
        return max(left / rate - since, (left - 1) / rate, 0.0)


def told_rate(rate: float, unit: str) -> str:
    """Formats a rate, such as "3.2 models/s", "12 models/min" or "4.0 models/h"."""
    for seconds, name in ((1, "s"), (60, "min"), (3600, "h")):
        if rate * seconds >= 1 or name == "h":
            break
    return f"{rate * seconds:.{0 if rate * seconds >= 10 else 1}f} {unit}/{name}"


def told_seconds(seconds: float) -> str:
    """Formats a duration, such as "0.4 s", "45 s", "2 min 10 s" or "1 h 05 min"."""
    whole = round(seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


FIRST_SECONDS = 10.0
LAST_SECONDS = 320.0
"""Seconds between two log lines: they double from the first value to the last."""
WORTH_TELLING = 1.0
"""Minimum seconds of a stage whose duration is logged."""
LEAST_TITLE = 12
"""Columns kept for a title on a narrow terminal, at the expense of the pace."""

Clock = Callable[[], float]
Advance = Callable[[int], None]


class StageShown:
    """The text shown for a stage."""

    def __init__(self, title: str, total: int | None, unit: str, clock: Clock) -> None:
        self.title = title
        self.total = total
        self._unit = unit
        self._clock = clock
        self._begun = clock()
        self._done = 0
        self._pace = StagePace(self._begun)
        self._advancing = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds since the stage began."""
        return self._clock() - self._begun

    def advance(self, steps: int) -> None:
        """Counts steps; thread-safe."""
        with self._advancing:
            self._done += steps
            self._pace.advance(self._clock(), self._done)

    def counted(self) -> str:
        """Such as "6 of 14 models"; empty if steps are not counted."""
        if self.total is None:
            return f"{self._done} {self._unit}" if self._done else ""
        return f"{self._done} of {self.total} {self._unit}"

    def paced(self) -> tuple[str, ...]:
        """Such as "0.5 models/s" and "about 16 s left", as far as known."""
        rate = self._pace.rate()
        if rate is None:
            return ()
        left = None if self.total is None else self.total - self._done
        remaining = self._pace.remaining(self._clock(), left) if left else None
        rest = () if remaining is None else (f"about {told_seconds(remaining)} left",)
        return told_rate(rate, self._unit), *rest

    def announced(self) -> str:
        return self.title if self.total is None else f"{self.title}: {self.total} {self._unit}"

    def ended(self) -> str:
        what = "done" if not self._done else f"{self._done} {self._unit}"
        return f"{self.title}: {what} in {told_seconds(self.seconds)}"


@contextmanager
def logged(
    say: Callable[[str], None],
    title: str,
    total: int | None,
    unit: str,
    clock: Clock = time.monotonic,
) -> Iterator[Advance]:
    """Logs the start of a stage, its progress at growing intervals, and its duration."""
    stage = StageShown(title, total, unit, clock)
    say(f"{stage.announced()} ...")
    told, pause = clock(), FIRST_SECONDS

    def advance(steps: int) -> None:
        nonlocal told, pause
        stage.advance(steps)
        if clock() - told >= pause:
            told, pause = clock(), min(2 * pause, LAST_SECONDS)
            say(f"{title}: {', '.join((stage.counted(), *stage.paced()))}")

    yield advance
    if stage.seconds >= WORTH_TELLING:
        say(stage.ended())


@contextmanager
def drawn(
    console: Console, title: str, total: int | None, unit: str, clock: Clock = time.monotonic
) -> Iterator[Advance]:
    """Shows a stage on one line of a terminal, which finally shows its duration."""
    stage = StageShown(title, total, unit, clock)
    with Progress(SpinnerColumn(), _Line(stage, console), console=console, transient=True) as shown:
        shown.add_task(title, total=None)
        yield stage.advance
    console.print(f"  {stage.ended()}", soft_wrap=True, highlight=False)


class _Line(TextColumn):
    """Title, steps, pace and seconds of a stage; the title is shortened on a narrow terminal."""

    def __init__(self, stage: StageShown, console: Console) -> None:
        super().__init__("", table_column=Column(no_wrap=True))
        self._stage = stage
        self._console = console

    def render(self, task: object) -> Text:
        room = self._console.width - len("⠋ ")
        parts = [part for part in (self._stage.counted(), *self._stage.paced()) if part]
        said = ", ".join(parts) or told_seconds(self._stage.seconds)
        while len(said) > room - LEAST_TITLE and len(parts) > 1:
            del parts[1]  # the rate is the least important
            said = ", ".join(parts)
        line = Text(self._stage.title)
        line.truncate(max(room - len(said) - len(": "), 1), overflow="ellipsis")
        return line.append(f": {said}")
