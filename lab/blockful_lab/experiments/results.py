# SPDX-License-Identifier: Apache-2.0
"""Stores one file per measured row, so that an interrupted experiment continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_lab.experiments.protocol import Cell, Scale
from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.forget import Level
from blockful_py.types import References
from blockful_py.unlearning.cost import Cost
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import row_from_json, row_to_json
from blockful_py.whole_file import write_whole

FORMAT = "blockful-experiment-audit/4"


@dataclass(frozen=True, slots=True)
class Result:
    """A row of one cell.

    Attributes:
        settings: of the method, and `stored` if it took increments stored before.
        row: figures; `row.method` is the name in tables.
        cost: in sample passes; None without computation.
        seconds: wall time of the method.
        samples: SHA-256 of the audited samples.
        command: of the measurement.
        machine: of the measurement.
        recipe: the federation's epochs, and how they were found (`learning.plateau.Plateau`).
        stored_seconds, stored_bytes: time to make the increments stored at publication, and their size in
            memory; 0 without.
        exact: whether the weights are independent of the forgotten samples (`audit.exactness`); False for
            reference rows.
    """

    cell: Cell
    settings: Mapping[str, Any]
    row: Row
    cost: Cost | None
    seconds: float
    samples: str
    command: str
    machine: Mapping[str, Any]
    recipe: Mapping[str, Any]
    stored_seconds: float
    stored_bytes: int
    exact: bool


def path_of(folder: Path, cell: Cell, method: str) -> Path:
    """Path such as `digits/few_hold/class/seed-5/retrain.json` below `folder`."""
    return (
        folder
        / cell.data.replace(":", ".")
        / cell.situation
        / cell.level
        / f"seed-{cell.seed}"
        / f"{method.replace(':', '.')}.json"
    )


def write(folder: Path, result: Result) -> None:
    """Writes a result, whole or not at all.  Raises RunError if the folder cannot be written."""
    path = path_of(folder, result.cell, result.row.method)
    write_whole(path, json.dumps(to_document(result), indent=1) + "\n", parents=True)


def read(path: Path) -> Result:
    """Reads a result.  Raises FormatError, naming the file, if `write` did not write it."""
    try:
        return from_document(parse_json(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, FormatError) as error:
        raise FormatError(f"{path} is no result of this experiment ({error}): delete it and rerun.") from None


def to_document(result: Result) -> dict[str, Any]:
    """JSON of a result."""
    return {
        "format": FORMAT,
        "cell": asdict(result.cell),
        "settings": dict(result.settings),
        "cost": None if result.cost is None else asdict(result.cost),
        "seconds": round(result.seconds, 3),
        "samples": result.samples,
        "command": result.command,
        "machine": dict(result.machine),
        "recipe": dict(result.recipe),
        "stored_seconds": round(result.stored_seconds, 3),
        "stored_bytes": result.stored_bytes,
        "exact": result.exact,
        **row_to_json(result.row),
    }


def from_document(document: Mapping[str, Any]) -> Result:
    """The result that `to_document` wrote.

    Raises FormatError, ValueError, KeyError or TypeError for any other document.
    """
    if document["format"] != FORMAT:
        raise FormatError(f"format {document['format']!r}, not {FORMAT!r}")
    return Result(
        cell=cell_from(document["cell"]),
        settings=document["settings"],
        row=row_from_json(document),
        cost=None if document["cost"] is None else Cost(**document["cost"]),
        seconds=document["seconds"],
        samples=document["samples"],
        command=document["command"],
        machine=document["machine"],
        recipe=document["recipe"],
        stored_seconds=document["stored_seconds"],
        stored_bytes=document["stored_bytes"],
        exact=document["exact"],
    )


def references_of(settings: Mapping[str, Any]) -> References:
    """The references of the models that a method with these settings retrains."""
    return References(settings.get("references", References.KEPT))


def cell_from(told: Mapping[str, Any]) -> Cell:
    """The cell of a document.  Raises as `from_document`."""
    return Cell(**{**told, "level": Level(told["level"]), "scale": Scale(told["scale"])})
