# SPDX-License-Identifier: Apache-2.0
"""What a participant did: a line of JSON for each piece of work, the newest MOST of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.whole_file import OWN, write_whole

MOST = 1000


@dataclass(frozen=True, slots=True)
class LoggedWork:
    """A piece of work.

    Attributes:
        models: a model that was trained, or those whose parts of a request were done.
        request: number of the request; None for a training.
        started: seconds of the epoch.
        seconds: how long it took; None while it runs, and where it was interrupted.
        error: why it failed; None where it did not.
    """

    models: tuple[str, ...]
    request: int | None
    started: float
    seconds: float | None = None
    error: str | None = None


class WorkLog:
    """The log in a file, which one process writes."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def entries(self) -> tuple[LoggedWork, ...]:
        """Oldest first.  Raises RunError when the file cannot be read."""
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
            documents = [json.loads(line) for line in lines]
            return tuple(LoggedWork(**{**each, "models": tuple(each["models"])}) for each in documents)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"{self._path} cannot be read ({error}): move it away.") from None

    @contextmanager
    def recording(self, models: Sequence[str], request: int | None) -> Iterator[None]:
        """Logs the work within, and how it ended.  Raises RunError when the file cannot be written."""
        before, work = self.entries(), LoggedWork(tuple(models), request, self._now())
        self._write((*before, work))
        try:
            yield
        except Exception as error:
            self._write((*before, replace(work, seconds=self._now() - work.started, error=str(error))))
            raise
        self._write((*before, replace(work, seconds=self._now() - work.started)))

    def trained_since(self, moment: float) -> int:
        """How many models were trained without an error in work that began since a time."""
        return sum(
            each.request is None and each.seconds is not None and not each.error and each.started >= moment
            for each in self.entries()
        )

    def _write(self, entries: Sequence[LoggedWork]) -> None:
        text = "".join(json.dumps(asdict(each)) + "\n" for each in entries[-MOST:])
        write_whole(self._path, text, mode=OWN)
