# SPDX-License-Identifier: Apache-2.0
"""A participant's log of its work: one JSON line each, limited to the newest MOST entries."""

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
        models: the trained model, or the models whose parts of a request were done.
        request: number of the request; None for a training.
        started: seconds since the epoch.
        seconds: duration; None while it runs or if it was interrupted.
        error: why it failed; None if it did not.
    """

    models: tuple[str, ...]
    request: int | None
    started: float
    seconds: float | None = None
    error: str | None = None


class WorkLog:
    """The log file.  Only one process may write it."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def entries(self) -> tuple[LoggedWork, ...]:
        """The entries, oldest first.  Raises RunError if the file cannot be read."""
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
        """Logs the work inside the `with` block and its outcome.  Raises RunError if the file cannot be
        written.
        """
        before, work = self.entries(), LoggedWork(tuple(models), request, self._now())
        self._write((*before, work))
        try:
            yield
        except Exception as error:
            self._write((*before, replace(work, seconds=self._now() - work.started, error=str(error))))
            raise
        self._write((*before, replace(work, seconds=self._now() - work.started)))

    def trained_since(self, moment: float) -> int:
        """Number of models trained without an error in work begun since `moment` (seconds of the epoch)."""
        return sum(
            each.request is None and each.seconds is not None and not each.error and each.started >= moment
            for each in self.entries()
        )

    def _write(self, entries: Sequence[LoggedWork]) -> None:
        text = "".join(json.dumps(asdict(each)) + "\n" for each in entries[-MOST:])
        write_whole(self._path, text, mode=OWN)
