# SPDX-License-Identifier: Apache-2.0
"""Resumes the open job of a run's journal, of any kind."""

from __future__ import annotations

from blockful_py.engine.jobs import Job, Kind
from blockful_py.errors import RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.pipeline.run.progress import Progress


def jobs_of(run: RunDirectory) -> tuple[Job, ...]:
    """All jobs of a run, oldest first.  Needs no chain."""
    with run.opened_journal() as journal:
        return journal.jobs()


def unfinished_job(run: RunDirectory, number: int | None = None) -> Job:
    """The open job.  Raises RunError if no job is open, or its number is not `number`."""
    with run.opened_journal() as journal:
        jobs, job = {each.number: each for each in journal.jobs()}, journal.open_job()
    if number is not None and number not in jobs:
        raise RunError(f"there is no job {number} in {run.path}: see `blockful jobs`.")
    if number is not None and (job is None or job.number != number):
        raise RunError(
            f"job {number} is {jobs[number].state}, not unfinished: there is nothing to go on with."
        )
    if job is None:
        raise RunError(f"no job is unfinished in {run.path}: there is nothing to go on with.")
    return job


def resume(federation: Federation, progress: Progress | None = None) -> None:
    """Resumes and completes the open job.

    Raises RunError if no job is open, or its models come from outside the run; otherwise as
    `Federation.train` and `Federation.unlearn`.
    """
    job = unfinished_job(federation.run)
    if job.kind is Kind.ADOPT:
        raise RunError(
            f"job {job.number} publishes models that were trained elsewhere: call `Federation.adopt` with "
            "them again, or give it up with `blockful abort`."
        )
    if job.kind is Kind.TRAIN:
        federation.train(progress)
    else:
        take_up(federation, progress)


def take_up(federation: Federation, progress: Progress | None = None) -> Unlearned | None:
    """Completes the open request of a run, if there is one.  Raises as `Federation.unlearn`."""
    request = request_under_way(federation.run.journal)
    if request is None:
        return None
    return federation.unlearn(request=request, progress=progress)
