# SPDX-License-Identifier: Apache-2.0
"""Writes the files of an audit: audit.md, audit.json and audit.png."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_lab.experiments.audit import Plan, left_out, scenarios
from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.plot import draw
from blockful_lab.experiments.results import Result
from blockful_lab.experiments.summary import summarise
from blockful_lab.experiments.tabulate import document, machine_line, markdown
from blockful_py.errors import FormatError, RunError
from blockful_py.report.plots.canvas import LIGHT
from blockful_py.whole_file import write_whole

MARKDOWN, DOCUMENT = "audit.md", "audit.json"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The written document, table and files."""

    markdown: str
    document: dict[str, Any]
    files: tuple[str, ...]


def write_report(plan: Plan, results: Sequence[Result], tuning: bool = False) -> AuditReport:
    """Writes tables, document and plot.  Raises RunError without rows, or if the folder cannot be written."""
    if not results:
        raise RunError(f"{plan.folder} has no row of these scenarios: measure them first.")
    summaries = {scenario: summarise(rows) for scenario, rows in scenarios(results).items()}
    about = {
        "command": plan.command,
        "scale": plan.scale,
        "seeds": list(plan.seeds),
        "tuning": tuning,
        "machine": dict(results[0].machine),
        "left_out": list(left_out(plan)),
        "recipes": recipes(results),
    }
    full = document(summaries, about)
    text = markdown(full)
    files = {
        MARKDOWN: text.encode(),
        DOCUMENT: as_text(full).encode(),
        "audit.png": draw(summaries, LIGHT),
    }
    for name, data in files.items():
        write_whole(plan.folder / name, data)
    return AuditReport(text, full, tuple(files))


def recipes(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Epochs by data set and seed, with how they were found; of networks alone."""
    found: dict[str, dict[str, Any]] = {}
    for result in (each for each in results if each.recipe):
        found.setdefault(result.cell.data, {})[str(result.cell.seed)] = dict(result.recipe)
    return found


def rewrite_report(folder: Path) -> AuditReport:
    """Writes the tables again from the folder's document; its rows need not be there.

    Raises:
        RunError: the folder holds no document, or cannot be written.
        FormatError: the document is damaged.
    """
    path = folder / DOCUMENT
    if not path.exists():
        raise RunError(f"{folder} has no row of these scenarios and no {DOCUMENT}: measure them first.")
    try:
        full = json.loads(path.read_text(encoding="utf-8"))
        text = markdown(full)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FormatError(f"{path} is no document of an audit ({error}): measure it again.") from None
    write_whole(folder / MARKDOWN, text)
    return AuditReport(text, full, (MARKDOWN,))


def as_text(document: Mapping[str, Any]) -> str:
    """JSON with a line for each method, so that two runs can be compared line by line."""
    scenarios = (
        with_list(scenario, "methods", map(compact, scenario["methods"]))
        for scenario in document["scenarios"]
    )
    return with_list(document, "scenarios", scenarios) + "\n"


def with_list(document: Mapping[str, Any], name: str, lines: Iterable[str]) -> str:
    """JSON of a document with one of its lists last, an item a line."""
    rest = {key: value for key, value in document.items() if key != name}
    return f"{json.dumps(rest)[:-1]}, {json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]}"


def compact(document: Any) -> str:
    """JSON without spaces."""
    return json.dumps(document, separators=(",", ":"))


def describe_run(command: str) -> list[str]:
    """Lines with the command and the machine."""
    return [f"`{command}`", "", machine_line(describe(THREADS))]
