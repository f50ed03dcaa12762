# SPDX-License-Identifier: Apache-2.0
"""`blockful unlearn`: make models forget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run
from blockful_py.types import Paradigm

Starts = Annotated[list[str] | None, typer.Option("--start", help="Model to start from. Repeatable.")]
Classes = Annotated[list[int] | None, typer.Option("--class", help="Class to forget. Repeatable.")]
Clients = Annotated[
    list[int] | None, typer.Option("--client", help="User to forget everything of. Repeatable.")
]
Samples = Annotated[
    list[str] | None,
    typer.Option("--sample", help="Sample to forget: user:row, rows from 0. Repeatable."),
]
ParadigmOption = Annotated[Paradigm, typer.Option(help="One certificate for all models, or one for each.")]
MethodName = Annotated[
    str | None, typer.Option(help="A method of docs/reference/unlearning.md; the paradigm's own if left out.")
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
        typer.Option(metavar="FILE", help="A request that its owners signed (`blockful request`)."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make every model that inherits from the starts forget classes, clients or samples, on both chains.

    What is left out comes from the run's settings. Interrupted, it goes on when it is run again.
    With --request: carry that request out.

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
        raise SettingsError("--request says what to forget: give it alone, or the other options.")
    signed = None if request is None else RequestFile.read(request).signed()
    with Federation.open(run) as federation:
        report = unlearn_once(federation, starts, forget, paradigm, method, out, signed)
    if as_json:
        out.result(report.to_json())
    else:
        print_report(report, Console(highlight=False), run)
    if report.verification.failed:
        raise typer.Exit(3)
