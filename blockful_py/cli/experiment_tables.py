# SPDX-License-Identifier: Apache-2.0
"""`blockful experiment tables`: the paper's tables, rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.experiment_audit import ScaleName
from blockful_py.cli.options import example


def register(group: typer.Typer) -> None:
    @group.command(
        epilog=example("blockful experiment tables --scale small --seeds 5-7 --output runs/tables")
    )
    def tables(
        output: Annotated[Path, typer.Option(help="Where results and tables go; a rerun goes on there.")],
        seeds: Annotated[list[str], typer.Option(help="Seeds such as 5-7. Repeatable.")],
        scale: Annotated[
            ScaleName, typer.Option(help="small: embedded data and a small network; full: the paper's own.")
        ] = ScaleName.SMALL,
    ) -> None:
        """Measure AD_r, AD_f and seconds of r5, r6 and r8, and print them beside the paper's.

        Retraining, gradient passing, fine-tuning and distillation, with as many classes as in the paper.
        Writes one file a case, then tables.md.
        """
        from blockful_py.experiments.protocol import Scale
        from blockful_py.experiments.seeds import parse_seeds
        from blockful_py.experiments.tables import cases, markdown, run
        from blockful_py.experiments.writing import describe_run, write_file

        size = Scale(scale)
        command = (
            f"blockful experiment tables --scale {scale} --seeds {','.join(map(str, parse_seeds(seeds)))} "
            f"--output {output.name}"
        )
        wanted = cases(parse_seeds(seeds), size)
        found = run(wanted, output, command, lambda line: typer.echo(line, err=True))
        text = markdown(found, size, describe_run(command))
        write_file(output / "tables.md", text.encode())
        typer.echo(text)
