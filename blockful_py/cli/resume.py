# SPDX-License-Identifier: Apache-2.0
"""Finishes an interrupted job (`blockful resume`)."""

from __future__ import annotations

from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.jobs import job_document
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run, located_run
from blockful_py.cli.unlearn import show
from blockful_py.types import Paradigm

Job = Annotated[
    int | None,
    typer.Argument(
        metavar="JOB", help="Number of the job. Takes the unfinished job if left out.", show_default=False
    ),
]


def resume(run: Run = LATEST, job: Job = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Finish a job that a crash, a dead node or Ctrl-C interrupted.  Completed steps are not repeated.

    After unlearning, the command writes the report, as `blockful unlearn` does.

    Example: blockful resume --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.resume import jobs_of, resume, unfinished_job
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.lease import request_of
    from blockful_py.report.runs.single import unlearn_once

    out = Output(as_json, quiet)
    unfinished = unfinished_job(RunDirectory.open(run), job)
    request = request_of(unfinished)
    with Federation.open(run) as federation:
        if request is None:
            resume(federation, out)
            outcome = None
        else:
            outcome = unlearn_once(federation, None, None, Paradigm.PARALLEL, None, out, request)
    (ended,) = (each for each in jobs_of(RunDirectory.open(run)) if each.number == unfinished.number)
    report = outcome.report if outcome else None
    out.result({"job": job_document(ended), "report": report.to_json() if report else None})
    out.say(f"job {ended.number} ({ended.kind}) is {ended.state}")
    if outcome is not None:
        show(outcome, out, run)
