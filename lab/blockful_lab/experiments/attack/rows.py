# SPDX-License-Identifier: Apache-2.0
"""Stores one file per shadow federation and row, so that an interrupted experiment goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_lab.experiments.attack.targets import Ask
from blockful_lab.experiments.protocol import Cell
from blockful_lab.experiments.results import cell_from
from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.whole_file import write_whole

FORMAT = "blockful-experiment-attack/1"

Margins = Mapping[str, Mapping[str, Mapping[str, list[float]]]]
"""By target, view and part."""


@dataclass(frozen=True, slots=True)
class AttackScenario:
    """A cell, and the request to its federations."""

    cell: Cell
    ask: Ask

    @property
    def title(self) -> str:
        """For example `digits, all hold, class, seed 5`."""
        cell = self.cell
        return f"{cell.data}, {cell.situation.replace('_', ' ')}, {self.ask}, seed {cell.seed}"

    def folder(self, output: Path) -> Path:
        """Path such as `digits/all_hold/canaries/seed-5` below the output's folder."""
        cell = self.cell
        return output / cell.data.replace(":", ".") / cell.situation / self.ask / f"seed-{cell.seed}"


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """Margins of one row of a shadow federation.

    Attributes:
        shadow: number of the federation, from 0.
        name: of the row in tables.
        settings: of the method, as `Variant.recorded`.
        margins: read by the attack.
        federation: SHA-256 of the published models.
        affected: number of affected models.
        command, machine: of the measurement.
        recipe: the epochs, and how they were found.
    """

    scenario: AttackScenario
    shadow: int
    name: str
    settings: Mapping[str, Any]
    margins: Margins
    federation: str
    affected: int
    command: str
    machine: Mapping[str, Any]
    recipe: Mapping[str, Any]


def path_of(output: Path, scenario: AttackScenario, shadow: int, name: str) -> Path:
    """Path such as `digits/all_hold/class/seed-5/shadow-03/gold.json` below the output's folder."""
    return scenario.folder(output) / f"shadow-{shadow:02}" / f"{name}.json"


def write(output: Path, row: ShadowRow) -> None:
    """Writes a row, whole or not at all.  Raises RunError if the folder cannot be written."""
    told = {
        "format": FORMAT,
        **{name: getattr(row, name) for name in row.__slots__ if name not in ("scenario", "margins")},
        "cell": asdict(row.scenario.cell),
        "ask": row.scenario.ask,
        "margins": row.margins,
    }
    path = path_of(output, row.scenario, row.shadow, row.name)
    write_whole(path, json.dumps(told) + "\n", parents=True)


def read(path: Path) -> ShadowRow:
    """Reads a row.  Raises FormatError, naming the file, if `write` did not write it."""
    try:
        told = parse_json(path.read_text(encoding="utf-8"))
        if told.pop("format") != FORMAT:
            raise FormatError(f"not of format {FORMAT!r}")
        scenario = AttackScenario(cell_from(told.pop("cell")), Ask(told.pop("ask")))
        return ShadowRow(scenario=scenario, **told)
    except (ValueError, KeyError, TypeError, AttributeError, FormatError) as error:
        raise FormatError(f"{path} is no result of this experiment ({error}): delete it and rerun.") from None
