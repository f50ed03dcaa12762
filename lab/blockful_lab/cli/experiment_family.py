# SPDX-License-Identifier: Apache-2.0
"""Families of small language models that forget an owner's texts (`blockful experiment family`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Quiet


def family(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for everything. A rerun continues there."),
    ],
    seeds: Annotated[list[str], typer.Option(help="Seeds, at least four, such as 5-12. Repeatable.")],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make families of small language models, have one owner forgotten, and audit the rest.

    A family is a base, four owners' adapters, two merges and a child of half as many bits.  Each is adopted
    on a record of its own, in seed-N/run, and one owner's texts are withdrawn.  Merges and child are computed
    again, and compared with families that never had the owner.  Writes family.md and family.json.

    Example: blockful experiment family --seeds 5-12 --output runs/family
    """
    from blockful_lab.experiments.family.experiment import measure, require_seeds
    from blockful_lab.experiments.family.writing import FILES, document_of, write

    numbers = require_seeds(seeds)
    out = Output(as_json, quiet)
    measured = measure(output, numbers, out)
    command = f"blockful experiment family --seeds {','.join(map(str, numbers))} --output {output.name}"
    document = document_of(measured, numbers, command)
    text = write(output, document)
    out.result(document)
    if not out.as_json:
        typer.echo(text)
    out.say(f"written to {output}: {', '.join(FILES)}")
