# SPDX-License-Identifier: Apache-2.0
"""`blockful experiment scale`: simulates the paper's scalability section."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Quiet
from blockful_py.errors import SettingsError


def scale(
    output: Annotated[Path, typer.Option(help="Folder for scale.md and scale.json.")],
    seeds: Annotated[list[str], typer.Option(help="Seeds, such as 5-9. Repeatable.")],
    size: Annotated[float, typer.Option(help="Share of the paper's number of requests.")] = 1.0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate throughput and latency over requests, depth, networks and data sets.

    Example: blockful experiment scale --seeds 5-9 --output runs/scale
    """
    from blockful_py.experiments.scale import document, measure, plan, table
    from blockful_py.experiments.seeds import parse_seeds
    from blockful_py.simulation.constants import Constants
    from blockful_py.whole_file import write_whole

    if not 0 < size <= 1:
        raise SettingsError(f"--size is above 0 and at most 1, not {size:g}.")
    numbers = parse_seeds(seeds)
    out = Output(as_json, quiet)
    with out.stage("simulate", len(plan(size)), "points") as advance:
        points = measure(Constants.load(), numbers, size, advance)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{output} cannot be made: {error.strerror}.") from None
    text = table(points)
    write_whole(output / "scale.md", text, SettingsError)
    write_whole(output / "scale.json", json.dumps(document(points), indent=2) + "\n", SettingsError)
    out.result(document(points))
    if not as_json:
        typer.echo(text)
    out.say(f"written to {output}: scale.md, scale.json")
