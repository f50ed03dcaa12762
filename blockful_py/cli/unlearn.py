# SPDX-License-Identifier: Apache-2.0
"""Makes models forget classes, clients or samples (`blockful unlearn`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, MethodName, Quiet, Run, located_run
from blockful_py.cli.report import show_report
from blockful_py.errors import SettingsError
from blockful_py.forget import Level
from blockful_py.types import Paradigm

if TYPE_CHECKING:
    from blockful_py.forget import Forget
    from blockful_py.pipeline.federation import Federation
    from blockful_py.record.request import Request
    from blockful_py.report.runs.single import FinishedRequest
    from blockful_py.unlearning.choosing import Advice


Starts = Annotated[
    list[str] | None, typer.Option("--start", metavar="MODEL", help="A model to start from. Repeatable.")
]
Classes = Annotated[
    list[int] | None, typer.Option("--class", metavar="LABEL", help="A class to forget. Repeatable.")
]
Clients = Annotated[
    list[int] | None, typer.Option("--client", help="A user whose data to forget. Repeatable.")
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", metavar="NAME", help="A data set of adopted models. Repeatable."),
]
Samples = Annotated[
    list[str] | None,
    typer.Option("--sample", help="A sample to forget, as user:row, rows from 0. Repeatable."),
]
ParadigmOption = Annotated[Paradigm, typer.Option(help="Decide on all models together, or on each in turn.")]


def unlearn(
    run: Run,
    starts: Starts = None,
    classes: Classes = None,
    clients: Clients = None,
    samples: Samples = None,
    datasets: Datasets = None,
    paradigm: ParadigmOption = Paradigm.PARALLEL,
    method: MethodName = None,
    request: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Execute this request, signed by its owners (`blockful request`)."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make every model that inherits from the starts forget classes, clients or samples, on both chains.

    Adopted models forget data sets: all that name them, and all that inherit from these, are withdrawn.

    Omitted options come from the run's settings.  If the command is interrupted, run it again to continue.  A
    completed request is not repeated: the command says so, and makes its report if that is missing.

    Example: blockful unlearn --run runs/mine --start r5 --start r7 --class 3
    """
    if request is not None and (starts or classes or clients or samples or datasets or method):
        raise SettingsError(
            "--request already names what to forget: give either --request or the other options."
        )
    from blockful_py.record.request_file import RequestFile

    signed = None if request is None else RequestFile.read(request).signed()
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.review.methods import forget_asked
    from blockful_py.report.runs.single import unlearn_once

    out, forget = Output(as_json, quiet), forget_asked(classes, clients, samples, datasets)
    with Federation.open(run) as federation:
        if federation.settings.federation.is_adopted:
            _withdraw(federation, starts, forget, signed, out)
            return
        outcome = unlearn_once(federation, starts, forget, paradigm, method, out, signed)
    report = outcome.report
    if report is None:
        out.result({"job": outcome.job, "repeated": outcome.repeated, "problem": outcome.problem})
    else:
        out.result(report.to_json())
    show(outcome, out, run)


def _withdraw(
    federation: Federation,
    starts: list[str] | None,
    forget: Forget | None,
    request: Request | None,
    out: Output,
) -> None:
    """Withdraws adopted models; they have no accuracies, and so no report."""
    if request is None and (forget is None or forget.level is not Level.DATASET):
        raise SettingsError("adopted models forget data sets: name one with --dataset.")
    from blockful_py.cli.work_shown import say_plan
    from blockful_py.record.reach import reach
    from blockful_py.report.runs.certificate_page import keep

    if request is None and forget is not None:
        catalogue = federation.catalogue()
        say_plan(catalogue, reach(catalogue, forget.datasets), federation.settings.chain.chunk_models, out)
    done = federation.unlearn(starts, forget=forget, request=request, progress=out)
    certificate = keep(federation.certify_erasure(done.request), federation.run.certificates)
    verification = federation.verify()
    out.result(
        {
            "forget": str(done.request.forget),
            "starts": [start.name for start in done.request.starts],
            "withdrawn": sorted(done.nodes),
            "certificate": str(certificate),
            "verified": verification.passed,
        }
    )
    for name in done.affected:
        out.say(f"{name}  withdrawn")
    if done.erasure is not None:
        out.say(done.erasure.account())
    out.say(f"certificate: {certificate}")
    if not verification.passed:
        raise typer.Exit(3)


def show(outcome: FinishedRequest, out: Output, run: Path) -> None:
    """Prints a completed request; ends with status 3 if the record does not verify."""
    report = outcome.report
    if outcome.repeated:
        out.say(f"this request is done already (job {outcome.job}): nothing was changed")
    if report is not None:
        show_report(out, report, run if outcome.problem is None else None)
    if outcome.problem is not None:
        out.problem(
            f"job {outcome.job} is done; only its report is missing",
            f"{outcome.problem} Repeat the request to make the report; it changes nothing else.",
        )
    if report is not None and report.verification.failed:
        raise typer.Exit(3)


def advised(method: str, advice: Advice) -> dict[str, Any]:
    """Document for `--json`; `method` is the request's, with its settings."""
    return {"method": method, **asdict(advice)}


def show_advice(out: Output, method: str, advice: Advice) -> None:
    """Prints the method, and its caveats and losses on stderr."""
    name = method.partition(" ")[0]
    out.say(f"method: {name}" + (f", {advice.reason}" if advice.reason else ""))
    if advice.caveat is not None:
        out.problem(f"warning: {name}", advice.caveat)
    if advice.loss is not None:
        out.problem("warning", advice.loss)
