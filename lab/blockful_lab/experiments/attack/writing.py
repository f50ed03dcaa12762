# SPDX-License-Identifier: Apache-2.0
"""Writes attack.md, attack.json and attack.png."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_lab.experiments.attack.drawing import draw
from blockful_lab.experiments.attack.figures import Attacked, Attacks, figures_of
from blockful_lab.experiments.attack.plan import AttackPlan, by_scenario
from blockful_lab.experiments.attack.rows import FORMAT, ShadowRow
from blockful_lab.experiments.attack.tabulate import markdown
from blockful_lab.experiments.tabulate import plain
from blockful_lab.experiments.writing import compact, with_list
from blockful_py.errors import FormatError, RunError
from blockful_py.report.plots.canvas import LIGHT
from blockful_py.unlearning.audit.disclosure import disclosed_bits
from blockful_py.unlearning.audit.klom import DIRECTION
from blockful_py.whole_file import write_whole

MARKDOWN, DOCUMENT, PICTURE = "attack.md", "attack.json", "attack.png"

NAMED = ("worst_example",)
"""Positions of single samples, which are not published."""


@dataclass(frozen=True, slots=True)
class AttackReport:
    """The written document, table and files."""

    markdown: str
    document: dict[str, Any]
    files: tuple[str, ...]


def write_report(plan: AttackPlan, found: Sequence[ShadowRow]) -> AttackReport:
    """Writes table, document and picture.

    Raises RunError without rows, or if the folder cannot be written, and as `figures_of`.
    """
    if not found:
        raise RunError(f"{plan.folder} has no row of these scenarios: measure them first.")
    attacks = [figures_of(scenario, rows) for scenario, rows in by_scenario(found).items()]
    scenarios = [plain(_scenario(each)) for each in attacks]
    full = {
        "format": FORMAT,
        "command": plan.command,
        "machine": dict(found[0].machine),
        "recipes": {row.scenario.title: dict(row.recipe) for row in found},
        "klom": DIRECTION,
        "disclosed_bits": disclosed_bits(scenarios),
        "scenarios": scenarios,
    }
    text = markdown(full)
    write_whole(plan.folder / MARKDOWN, text)
    write_whole(plan.folder / DOCUMENT, as_text(full))
    write_whole(plan.folder / PICTURE, draw(full, LIGHT))
    return AttackReport(text, full, (MARKDOWN, DOCUMENT, PICTURE))


def rewrite_report(folder: Path) -> AttackReport:
    """Writes table and picture again from the folder's document; its rows need not be there.

    Raises:
        RunError: the folder holds no document, or cannot be written.
        FormatError: the document is damaged.
    """
    path = folder / DOCUMENT
    if not path.exists():
        raise RunError(f"{folder} has no row of these scenarios and no {DOCUMENT}: measure them first.")
    try:
        full = json.loads(path.read_text(encoding="utf-8"))
        text, picture = markdown(full), draw(full, LIGHT)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FormatError(f"{path} is no document of an attack ({error}): measure it again.") from None
    write_whole(folder / MARKDOWN, text)
    write_whole(folder / PICTURE, picture)
    return AttackReport(text, full, (MARKDOWN, PICTURE))


def as_text(document: Mapping[str, Any]) -> str:
    """JSON with a line for each method, so that two runs can be compared line by line."""
    scenarios = (
        with_list(
            scenario,
            "views",
            (with_list(view, "methods", map(compact, view["methods"])) for view in scenario["views"]),
        )
        for scenario in document["scenarios"]
    )
    return with_list(document, "scenarios", scenarios) + "\n"


def _scenario(attacks: Attacks) -> dict[str, Any]:
    return {
        "title": attacks.scenario.title,
        "cell": asdict(attacks.scenario.cell),
        "ask": attacks.scenario.ask,
        "shadows": attacks.shadows,
        "affected": list(attacks.affected),
        "views": [
            {
                "target": viewed.target,
                "view": viewed.view,
                "examples": viewed.examples,
                "recognised": asdict(viewed.recognised),
                "membership": asdict(viewed.membership),
                "methods": [_method(each) for each in viewed.methods],
            }
            for viewed in attacks.views
        ],
    }


def _method(attacked: Attacked) -> dict[str, Any]:
    """A method's figures without the positions of single samples."""
    told = asdict(attacked)
    for part in ("attack", "klom"):
        told[part] = {name: value for name, value in told[part].items() if name not in NAMED}
    return told
