# SPDX-License-Identifier: Apache-2.0
"""Lists, finishes and gives up the jobs of a run (`blockful jobs`, `resume`, `abort`)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run, located_run
from blockful_py.cli.unlearn import show
from blockful_py.types import Paradigm

if TYPE_CHECKING:
    from blockful_py.engine.jobs import Job, Step


JobNumber = Annotated[
    int | None,
    typer.Argument(
        metavar="JOB", help="Number of the job. Takes the unfinished job if left out.", show_default=False
    ),
]


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
        raise typer.Exit(_follow(run, out))
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


def resume(run: Run = LATEST, job: JobNumber = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
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


def abort(run: Run, job: JobNumber = None, as_json: AsJson = False) -> None:
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


LOOK_SECONDS = 0.5
FAILED = 1


def _follow(run: Path, out: Output) -> int:
    """Shows the job until it ends; returns the exit status, 0 if the job is done.

    Raises as `job_events.follow`.
    """
    from blockful_py.explorer import job_events

    state = ""
    for event in job_events.follow(run, lambda: time.sleep(LOOK_SECONDS)):
        out.line(event)
        out.plain(_line(event))
        state = event.get("state", "") if event["event"] == "end" else state
    return 0 if state == "done" else FAILED


def _line(event: dict[str, Any]) -> str:
    if event["event"] == "job":
        return f"job {event['job']}, {event['kind']}, begun at {_time(event['begun'])} UTC"
    if event["event"] == "step":
        return f"{_time(event['at'])}  {event['state']:8} {event['act']:8} {event['subject']}"
    if event["event"] == "progress":
        rate = f", {event['rate']:.2g} a second" if event["rate"] else ""
        left = f", {event['remaining']:.0f} s remain" if event["remaining"] is not None else ""
        return f"          {event['done']} of {event['steps']} steps{rate}{left}"
    if event["event"] == "idle":
        return "          no process executes it: `blockful resume` finishes it, unless a member takes over"
    if event["event"] == "log":
        return f"          | {event['line']}"
    took = "" if event["seconds"] is None else f" after {event['seconds']:.1f} s"
    why = f": {event['outcome']}" if event["outcome"] else ""
    return f"job {event['job']} is {event['state']}{took}{why}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")
