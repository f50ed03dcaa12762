# SPDX-License-Identifier: Apache-2.0
"""Lists the jobs of a run and their steps (`blockful jobs`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from blockful_py.cli import jobs_follow
from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run

if TYPE_CHECKING:
    from blockful_py.engine.jobs import Job, Step


def jobs(
    run: Run = LATEST,
    steps: Annotated[bool, typer.Option("--steps", help="Also show the steps.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the newest job until it ends.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the training and unlearning jobs of a run from its journal, without contacting a chain.

    Finish an open job with `blockful resume`, or give it up with `blockful abort`.

    With --follow it shows the steps, the rate, the remaining time and new lines of the party's log.  It ends
    with the job, with status 0 if the job is done, otherwise 1.  With --json each event is one line.

    Example: blockful jobs --run runs/mine --steps
    """
    run = located_run(run)
    from blockful_py.pipeline.resume import jobs_of
    from blockful_py.pipeline.run.directory import RunDirectory

    out = Output(as_json)
    if follow:
        raise typer.Exit(jobs_follow.follow(run, out))
    jobs = jobs_of(RunDirectory.open(run))
    out.result({"jobs": [job_document(job) for job in jobs]})
    if not jobs:
        out.say("no job was begun in this run")
        return
    out.say(_table(jobs))
    for job in jobs:
        for each in job.excluded:
            out.say(f"job {job.number} excluded {each}")
    if steps:
        for job in jobs:
            out.say(_steps(job))


def job_document(job: Job) -> dict[str, Any]:
    """A job and its steps, as JSON; times in seconds since 1970."""
    return {
        "job": job.number,
        "kind": job.kind.value,
        "state": job.state.value,
        "outcome": job.outcome,
        "excluded": list(job.excluded),
        "begun": job.begun,
        "ended": job.ended,
        "steps": [_step_document(step) for step in job.steps],
    }


def _step_document(step: Step) -> dict[str, Any]:
    return {
        "step": step.number,
        "decision": step.decision,
        "act": step.act.value,
        "subject": step.subject,
        "state": step.state.value,
        "begun": step.begun,
        "ended": step.ended,
        "transaction": None if step.transaction is None else "0x" + step.transaction.hex(),
    }


def _table(jobs: tuple[Job, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for heading in ("job", "kind", "state", "begun (UTC)", "steps", "outcome"):
        table.add_column(heading, justify="right" if heading in {"job", "steps"} else "left")
    for job in jobs:
        done = sum(step.state == "done" for step in job.valid)
        begun = datetime.fromtimestamp(job.begun, UTC).strftime("%Y-%m-%d %H:%M:%S")
        cells = (str(job.number), job.kind, job.state, begun, f"{done}/{len(job.valid)}", job.outcome)
        table.add_row(*cells)
    return table


def _steps(job: Job) -> Table:
    table = Table(box=None, pad_edge=False, header_style="", title=f"job {job.number}", title_justify="left")
    for heading in ("decision", "act", "of", "state", "transaction"):
        table.add_column(heading, justify="right" if heading == "decision" else "left")
    for step in job.steps:
        sent = "" if step.transaction is None else "0x" + step.transaction.hex()
        table.add_row(str(step.decision or ""), step.act, step.subject, step.state, sent)
    return table
