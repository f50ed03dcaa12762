# SPDX-License-Identifier: Apache-2.0
"""The unlearning request that is under way, so that it can go on after a crash."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from pydantic import ValidationError

from blockful_py.closing import Closing
from blockful_py.errors import RunError
from blockful_py.pipeline.model_node import Request


class Lead(Closing):
    """A lock on run.json, held by one process at a time; given back when it dies, whatever kills it."""

    def __init__(self, run: Path) -> None:
        """Raises RunError when somebody else leads in this run directory."""
        self._held = os.open(run / "run.json", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._held)
            raise RunError(f"a request is being led in {run}: wait until it is done.") from None

    @classmethod
    def is_free(cls, run: Path) -> bool:
        try:
            cls(run).close()
        except RunError:
            return False
        return True

    def close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


class PendingRequest:
    """The request in `path`; at most one at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def standing(self) -> Request | None:
        """The request under way. Raises RunError when it cannot be read."""
        try:
            return Request.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise RunError(f"{self._path} is damaged ({error.error_count()} faults); move it away.") from None

    def begin(self, request: Request) -> Request:
        """Remembers `request`; returns the one under way when it asks for the same.

        Raises RunError when another one is under way.
        """
        standing = self.standing()
        if standing is None:
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(request.model_dump_json(), encoding="utf-8")
            temporary.replace(self._path)
            return request
        if _asks(standing) != _asks(request):
            starts = ", ".join(start.name for start in standing.starts)
            raise RunError(
                f"a {standing.paradigm} request to forget {standing.forget} from {starts} "
                f"({standing.method}) is unfinished: make it again to finish it before another one."
            )
        return standing

    def finish(self) -> None:
        self._path.unlink(missing_ok=True)

    def drop_unless(self, begun: bool) -> None:
        """Forgets a request that changed nothing."""
        if not begun:
            self.finish()


def _asks(request: Request) -> tuple[object, ...]:
    return request.starts, request.forget, request.paradigm, request.method
