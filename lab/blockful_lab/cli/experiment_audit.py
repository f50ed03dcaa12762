# SPDX-License-Identifier: Apache-2.0
"""Audits every method against models that never saw the data (`blockful experiment audit`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from blockful_lab.cli.options import EngineOverrides, engine_settings
from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson
from blockful_py.forget import Level


class Situation(StrEnum):
    FEW_HOLD = "few_hold"
    ALL_HOLD = "all_hold"


class LevelName(StrEnum):
    CLASS = "class"
    CLIENT = "client"
    SAMPLE = "sample"


class ScaleName(StrEnum):
    SMALL = "small"
    FULL = "full"


RenderOnly = Annotated[
    bool, typer.Option("--render-only", help="Only render the tables and plot of stored results.")
]


ResultsFolder = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Folder for results, table and plot. A rerun continues there."
    ),
]

DataFiles = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Folder of the data set's files, or a hub id, if not the default."),
]

Situations = Annotated[
    list[Situation] | None, typer.Option(help="How many users hold the class. Repeatable. Default: both.")
]


def audit(
    output: ResultsFolder,
    seeds: Annotated[list[str], typer.Option(help="Seeds, such as 5-9. Repeatable.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set, from `blockful data --list`, or package.module:object. Repeatable. "
            "Default: digits and shapes."
        ),
    ] = None,
    data_files: DataFiles = None,
    situation: Situations = None,
    level: Annotated[
        list[LevelName] | None, typer.Option(help="The level to forget. Repeatable. Default: class.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method or variant, `cheats`, or package.module:Class. Repeatable. "
            "Default: all but cheats."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model, as learning.model. `analytic` and `merged` are audited with the methods for models "
            "of sums. Default: the small network."
        ),
    ] = None,
    scale: Annotated[ScaleName, typer.Option(help="How many users: 14 or 7.")] = ScaleName.FULL,
    tuning: Annotated[
        bool, typer.Option("--tuning", help="Use seeds 0 to 2, whose results are not reported.")
    ] = False,
    render_only: RenderOnly = False,
    overrides: EngineOverrides = None,
    as_json: AsJson = False,
) -> None:
    """Run every method, and audit its models against models that never saw the data.

    Determines the epochs that the data need on held-out training samples, trains federations, and also
    measures the reference rows original, gold, gold2 (the noise floor) and head_mask, of models of sums also
    resampled.  Writes one file per
    row, then audit.md, audit.json and audit.png.  A rerun skips rows that have a file.

    Example: blockful experiment audit --data digits --situation all_hold --seeds 5-9 --output runs/audit
    """
    from blockful_lab.experiments.audit import Plan, collect, run
    from blockful_lab.experiments.protocol import EMBEDDED, Scale
    from blockful_lab.experiments.seeds import parse_seeds
    from blockful_lab.experiments.variants import variants
    from blockful_lab.experiments.writing import rewrite_report, write_report

    out = Output(as_json)
    plan = Plan(
        data=tuple(data or EMBEDDED),
        situations=tuple(situation or Situation),
        levels=tuple(Level(one) for one in level or [LevelName.CLASS]),
        seeds=parse_seeds(seeds, tuning),
        variants=variants(method or (), model),
        folder=output,
        scale=Scale(scale),
        data_files=data_files,
        model=model,
    )
    rows = collect(plan) if render_only else run(plan, out.progress, out, engine_settings(overrides))
    measured = rows or not render_only
    report = write_report(plan, rows, tuning) if measured else rewrite_report(plan.folder)
    out.result(report.document)
    if not as_json:
        typer.echo(report.markdown)
    out.say(f"written to {output}: {', '.join(report.files)}")
