# SPDX-License-Identifier: Apache-2.0
"""`blockful unlearn`: makes models forget classes, clients or samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run
from blockful_py.types import Paradigm

Starts = Annotated[list[str] | None, typer.Option("--start", help="A model to start from. Repeatable.")]
Classes = Annotated[list[int] | None, typer.Option("--class", help="A class to forget. Repeatable.")]
Clients = Annotated[
    list[int] | None, typer.Option("--client", help="A user whose data to forget. Repeatable.")
]
Samples = Annotated[
    list[str] | None,
    typer.Option("--sample", help="A sample to forget, as user:row, rows from 0. Repeatable."),
]
ParadigmOption = Annotated[Paradigm, typer.Option(help="Decide on all models together, or on each in turn.")]
MethodName = Annotated[
    str | None, typer.Option(help="A method of docs/reference/unlearning.md. Default: the paradigm's own.")
]


def unlearn(
    run: Run = LATEST,
    starts: Starts = None,
    classes: Classes = None,
    clients: Clients = None,
    samples: Samples = None,
    paradigm: ParadigmOption = Paradigm.PARALLEL,
    method: MethodName = None,
    request: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Carry out this request, which its owners signed (`blockful request`)."
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make every model that inherits from the starts forget classes, clients or samples, on both chains.

    Options that are left out come from the run's settings. If the command is interrupted, run it again to
    continue.

    Example: blockful unlearn --run runs/mine --start r5 --start r7 --class 3
    """
    from blockful_py.errors import SettingsError
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.reports.single import unlearn_once
    from blockful_py.pipeline.review.methods import forget_asked
    from blockful_py.record.request_file import RequestFile
    from blockful_py.report.table import print_report

    out = Output(as_json, quiet)
    forget = forget_asked(classes, clients, samples)
    if request is not None and (starts or forget or method):
        raise SettingsError(
            "--request already names what to forget: give either --request or the other options."
        )
    signed = None if request is None else RequestFile.read(request).signed()
    with Federation.open(run) as federation:
        report = unlearn_once(federation, starts, forget, paradigm, method, out, signed)
    if as_json:
        out.result(report.to_json())
    else:
        print_report(report, Console(highlight=False), run)
    if report.verification.failed:
        raise typer.Exit(3)
