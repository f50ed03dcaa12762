# SPDX-License-Identifier: Apache-2.0
"""The paper's scalability section, simulated and real (`blockful experiment scale`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_lab.cli.experiment_audit import RenderOnly
from blockful_lab.experiments.machine import describe
from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Quiet
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_lab.experiments.scale.writing import ScaleResults


class Devnets(StrEnum):
    GANACHE = "ganache"
    EMBEDDED = "embedded"


def scale(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for everything. A rerun continues there."),
    ],
    seeds: Annotated[list[str], typer.Option(help="Seeds, such as 5-9. Repeatable.")],
    size: Annotated[float, typer.Option(help="Share of the paper's number of requests.")] = 0.1,
    models: Annotated[int, typer.Option(help="Maximum models simulated in one request.")] = 10_000,
    members: Annotated[int, typer.Option(help="Maximum members simulated.")] = 1_000,
    requests: Annotated[
        int, typer.Option(min=0, help="Maximum parallel requests executed, over twice as many models.")
    ] = 0,
    sequential: Annotated[int, typer.Option(min=0, help="Maximum sequential requests executed.")] = 0,
    deep: Annotated[int, typer.Option(min=0, help="Requests executed at each depth up to 8.")] = 0,
    devnet: Annotated[
        Devnets | None, typer.Option(help="Chains of the real runs. Default: Ganache where it is installed.")
    ] = None,
    render_only: RenderOnly = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate throughput and latency, execute some requests, and judge the paper's claims.

    Writes a file for each point, then scale.md, scale.json and scale.png.  A rerun skips points that have a
    file, and continues an interrupted federation.

    Example: blockful experiment scale --seeds 5-9 --size 1 --requests 8 --output runs/scale
    """
    from blockful_lab.experiments.scale import real
    from blockful_lab.experiments.scale.growth import grow, points_of
    from blockful_lab.experiments.scale.plan import plan
    from blockful_lab.experiments.scale.points import simulate
    from blockful_lab.experiments.scale.writing import ScaleResults, read
    from blockful_lab.experiments.seeds import parse_seeds
    from blockful_lab.simulation.constants import Constants

    if not 0 < size <= 1:
        raise SettingsError(f"--size is above 0 and at most 1, not {size:g}.")
    numbers, constants, planned = parse_seeds(seeds), Constants.load(), plan(size)
    out = Output(as_json, quiet)
    if render_only:
        _show(read(output), output, out)
        return
    with out.stage("simulate", len(planned), "points") as advance:
        points = simulate(planned, constants, numbers, output, advance)
    with out.stage("grow", points_of(models, members), "points") as advance:
        growth = grow(models, members, constants, numbers[0], output, advance)
    runs = real.measure(real.plan(requests, sequential, deep), constants, output, devnet, out)
    points += [point for run in runs for point in run.points()]
    carried_out = {"requests": requests, "sequential": sequential, "deep": deep}
    command = (
        f"blockful experiment scale --seeds {','.join(map(str, numbers))} --size {size:g} --models {models} "
        f"--members {members} {''.join(f'--{name} {count} ' for name, count in carried_out.items() if count)}"
        f"--output {output.name}"
    )
    results = ScaleResults(command, describe(1), points, growth, runs)
    _show(results, output, out)


def _show(results: ScaleResults, output: Path, out: Output) -> None:
    from blockful_lab.experiments.scale.writing import FILES, write

    text, document = write(results, output)
    out.result(document)
    if not out.as_json:
        typer.echo(text)
    out.say(f"written to {output}: {', '.join(FILES)}")
