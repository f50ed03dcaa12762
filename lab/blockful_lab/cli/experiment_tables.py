# SPDX-License-Identifier: Apache-2.0
"""Repeats the measurements of the paper's tables (`blockful experiment tables`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_lab.cli.experiment_audit import RenderOnly, ScaleName
from blockful_lab.cli.options import EngineOverrides, engine_settings
from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson


def tables(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for results and tables. A rerun continues there."
        ),
    ],
    seeds: Annotated[list[str], typer.Option(help="Seeds, such as 5-7. Repeatable.")],
    scale: Annotated[
        ScaleName,
        typer.Option(help="Use the paper's data and networks, or embedded data and a small network."),
    ] = ScaleName.SMALL,
    table: Annotated[
        list[str] | None, typer.Option(help="Part of a table's title, such as TinyImageNet. Repeatable.")
    ] = None,
    classes: Annotated[
        list[int] | None,
        typer.Option(help="Rows with this number of classes. Repeatable.", min=1),
    ] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(help="Network in place of the row's, such as resnet18. Repeatable."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs per model, in place of the scale's; the paper uses 100.", min=1)
    ] = None,
    data_limit: Annotated[
        int | None, typer.Option(help="Maximum samples of each split, drawn by seed.", min=1)
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the files with the tables and their plot.")] = "tables",
    render_only: RenderOnly = False,
    overrides: EngineOverrides = None,
    as_json: AsJson = False,
) -> None:
    """Measure AD_r, AD_f and seconds of r5, r6 and r8, and print them beside the paper's.

    Measures retraining, gradient passing, fine-tuning and distillation, with the paper's numbers of
    classes. Writes a line of tables.jsonl per case, then tables.md and tables.png. A rerun skips cases that
    have a line.

    Example: blockful experiment tables --scale small --seeds 5-7 --output runs/tables
    """
    from blockful_lab.experiments.comparison import compare, document, markdown
    from blockful_lab.experiments.overview import overview
    from blockful_lab.experiments.paper import Rerun
    from blockful_lab.experiments.plot_tables import draw
    from blockful_lab.experiments.protocol import Scale
    from blockful_lab.experiments.seeds import parse_seeds
    from blockful_lab.experiments.tables import cases, collect, run
    from blockful_lab.experiments.writing import describe_run
    from blockful_py.report.plots.canvas import LIGHT
    from blockful_py.whole_file import write_whole

    out = Output(as_json)
    rerun = Rerun(
        Scale(scale), tuple(table or ()), tuple(classes or ()), tuple(network or ()), epochs, data_limit
    )
    numbers = parse_seeds(seeds)
    words = [f"--scale {scale}"]
    words += [f"--table '{part}'" for part in rerun.tables]
    words += [f"--classes {count}" for count in rerun.classes]
    words += [f"--network {name}" for name in rerun.networks]
    words += [f"--seeds {','.join(map(str, numbers))}"]
    words += [f"--epochs {epochs}"] if epochs else []
    words += [f"--data-limit {data_limit}"] if data_limit else []
    words += [f"--name {name}"] if name != "tables" else []
    words += ["--render-only"] * render_only
    command = f"blockful experiment tables {' '.join(words)} --output {output.name}"
    wanted = cases(numbers, rerun)
    if render_only:
        measured = collect(wanted, output)
    else:
        measured = run(wanted, output, command, out.progress, out, engine_settings(overrides))
    compared = tuple(compare(measured, rerun))
    text = markdown(compared, describe_run(command), overview(measured, compared))
    write_whole(output / f"{name}.md", text)
    write_whole(output / f"{name}.png", draw(compared, LIGHT))
    out.result(document(measured, command))
    if not as_json:
        typer.echo(text)
    out.say(f"written to {output}: {name}.md, {name}.png")
