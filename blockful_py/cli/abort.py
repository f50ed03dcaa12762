# SPDX-License-Identifier: Apache-2.0
"""Gives up an interrupted job (`blockful abort`)."""

from __future__ import annotations

from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.jobs import job_document
from blockful_py.cli.options import AsJson, Run, located_run

Job = Annotated[
    int | None,
    typer.Argument(
        metavar="JOB", help="Number of the job. Takes the unfinished job if left out.", show_default=False
    ),
]


def abort(run: Run, job: Job = None, as_json: AsJson = False) -> None:
    """Give up the unfinished job and delete its stored files, provided that no chain has any part of it.

    If a chain may have a part, the command fails with the reason: finish the job with `blockful resume`.
    Published models of a training job stay.

    Example: blockful abort --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.resume import unfinished_job
    from blockful_py.pipeline.run.directory import RunDirectory

    out = Output(as_json)
    unfinished_job(RunDirectory.open(run), job)
    with Federation.open(run, settle=False) as federation:
        ended = federation.abort()
    out.result({"job": job_document(ended)})
    out.say(f"job {ended.number} ({ended.kind}) is given up; its stored files were deleted")
