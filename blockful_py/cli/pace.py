# SPDX-License-Identifier: Apache-2.0
"""The pace of a stage: steps per second, and remaining time."""

from __future__ import annotations

from collections import deque

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
