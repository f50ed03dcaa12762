# SPDX-License-Identifier: Apache-2.0
"""Distinguishes models that unlearned from models that never knew (`blockful experiment attack`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from blockful_lab.cli.experiment_audit import (
    DataFiles,
    RenderOnly,
    ResultsFolder,
    ScaleName,
    Situation,
    Situations,
)
from blockful_lab.cli.options import EngineOverrides, engine_settings
from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson


class AskName(StrEnum):
    CLASS = "class"
    CLIENT = "client"
    SAMPLE = "sample"
    CANARIES = "canaries"


def attack(
    output: ResultsFolder,
    seeds: Annotated[list[str], typer.Option(help="Seeds of data and request, such as 5. Repeatable.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="Data set, from `blockful data --list`, or package.module:object. Repeatable. "
            "Default: digits."
        ),
    ] = None,
    data_files: DataFiles = None,
    situation: Situations = None,
    ask: Annotated[
        list[AskName] | None, typer.Option(help="What is forgotten. Repeatable. Default: class.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A method or variant. Repeatable. Default: clean_increments, retrain_ahead."),
    ] = None,
    shadows: Annotated[int, typer.Option(help="Shadow federations of either kind.")] = 64,
    scale: Annotated[ScaleName, typer.Option(help="How many users: 14 or 7.")] = ScaleName.SMALL,
    render_only: RenderOnly = False,
    overrides: EngineOverrides = None,
    as_json: AsJson = False,
) -> None:
    """Attack every method with shadow federations, to tell its models from models that never knew.

    Trains federations that forget, and the same federations without the forgotten data, from many seeds, and
    attacks forgotten and retained samples.  `--ask canaries` plants mislabelled and unusual samples.  Writes
    one file per federation and row, then attack.md, attack.json and attack.png.  A rerun skips rows that have
    a file.

    Example: blockful experiment attack --situation all_hold --seeds 5 --output runs/attack
    """
    from blockful_lab.experiments.attack.plan import METHODS, AttackPlan, attacked, collect, run
    from blockful_lab.experiments.attack.targets import Ask
    from blockful_lab.experiments.attack.writing import rewrite_report, write_report
    from blockful_lab.experiments.protocol import Scale
    from blockful_lab.experiments.seeds import parse_seeds

    out = Output(as_json)
    plan = AttackPlan(
        data=tuple(data or ("digits",)),
        situations=tuple(situation or Situation),
        asks=tuple(Ask(one) for one in ask or [AskName.CLASS]),
        seeds=parse_seeds(seeds),
        variants=attacked(method or METHODS),
        folder=output,
        shadows=shadows,
        scale=Scale(scale),
        data_files=data_files,
    )
    rows = collect(plan) if render_only else run(plan, out.progress, out, engine_settings(overrides))
    measured = rows or not render_only
    report = write_report(plan, rows) if measured else rewrite_report(plan.folder)
    out.result(report.document)
    if not as_json:
        typer.echo(report.markdown)
    out.say(f"written to {output}: {', '.join(report.files)}")
