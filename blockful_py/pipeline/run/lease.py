# SPDX-License-Identifier: Apache-2.0
"""The lease of a run directory, which the leader of a job holds, and the open job's request."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from blockful_py.closable import Closable
from blockful_py.engine.jobs import Job, Kind
from blockful_py.engine.journal import Journal
from blockful_py.errors import RunError
from blockful_py.file_lock import FileLock
from blockful_py.record.request import Request
from blockful_py.types import Paradigm

LOCK = "run.lock"
KINDS = {Paradigm.PARALLEL: Kind.PARALLEL, Paradigm.SEQUENTIAL: Kind.SEQUENTIAL}


class Lease(Closable):
    """The exclusive right to lead a run; it ends with the process, even after a crash."""

    def __init__(self, run: Path) -> None:
        """Takes the lease.  Raises RunError, naming the holder, if another process has it."""

        def held(holder: str) -> RunError:
            return RunError(
                f"{run} is being made, or a job is being led in it, by {holder}: wait until that is done, or "
                "end that process, and repeat the command."
            )

        try:
            self._lock = FileLock(run / LOCK, held)
        except FileNotFoundError:
            raise  # the folder does not exist
        except OSError as error:
            raise RunError(
                f"{run / LOCK} cannot be written ({error.strerror}): leading a run needs the right "
                "to write to it."
            ) from None

    @classmethod
    def is_free(cls, run: Path) -> bool:
        return FileLock.is_free(run / LOCK)

    def discard(self) -> None:
        """Gives up the lease of a run that is not completed; deletes the lock file if newly made."""
        if self._lock.made:
            self._lock.discard()
        self.close()

    def close(self) -> None:
        self._lock.close()


def request_under_way(journal: Path) -> Request | None:
    """The open job's request; None for a job without one.  Raises RunError as the journal does."""
    with Journal(journal) as jobs:
        job = jobs.open_job()
    return None if job is None else request_of(job)


def request_of(job: Job) -> Request | None:
    """The request of an unlearning job; None for other jobs.  Raises RunError when it cannot be read."""
    if job.kind not in KINDS.values():
        return None
    try:
        return Request.model_validate_json(job.request)
    except ValidationError as error:
        raise RunError(
            f"the request of job {job.number} is damaged ({error.error_count()} faults): give it up with "
            "`blockful abort`, or move the journal away."
        ) from None


def training_text(rounds: int | None) -> str:
    """The request text of a training job; `rounds` is None for the settings' number."""
    return "" if rounds is None else json.dumps({"rounds": rounds})


def rounds_of(job: Job | None, rounds: int | None) -> int | None:
    """The number of rounds that a training is to reach: the open job's, otherwise `rounds`.

    Raises RunError when the open training has another number of rounds, or its record cannot be read.
    """
    if job is None or job.kind is not Kind.TRAIN:
        return rounds
    try:
        open_rounds = json.loads(job.request)["rounds"] if job.request else None
    except (ValueError, KeyError, TypeError):
        raise RunError(
            f"job {job.number} does not say how many rounds it trains: give it up with `blockful abort`."
        ) from None
    if rounds is not None and rounds != open_rounds:
        asked = "the rounds of the settings" if open_rounds is None else f"{open_rounds} rounds"
        raise RunError(
            f"a training up to {asked} is unfinished: finish it with `blockful resume`, or give it up with "
            "`blockful abort`, before another one."
        )
    return open_rounds


def require_same(unfinished: Request, request: Request) -> None:
    """Checks that two requests ask for the same.  Raises RunError if not."""
    if not asks_the_same(unfinished, request):
        starts = ", ".join(start.name for start in unfinished.starts)
        raise RunError(
            f"a {unfinished.paradigm} request to forget {unfinished.forget} from {starts} "
            f"({unfinished.method}) is unfinished: finish it with `blockful resume`, or give it up with "
            "`blockful abort`, before another one."
        )


def asks_the_same(one: Request, other: Request) -> bool:
    """Whether two requests differ only in their times and signatures."""
    return _asks(one) == _asks(other)


def _asks(request: Request) -> tuple[object, ...]:
    return request.starts, request.forget, request.paradigm, request.method
