# SPDX-License-Identifier: Apache-2.0
"""Renders report.html: one self-contained file that is readable without its script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from blockful_py.report import summary
from blockful_py.report.assets import page_assets, page_templates
from blockful_py.report.drawing.bars import gas_bars, second_bars
from blockful_py.report.drawing.curves import curve_blocks
from blockful_py.report.drawing.lineage import lineage
from blockful_py.report.drawing.passages import passage_charts
from blockful_py.report.drawing.shades import class_count, class_tables, confusion_tables, shown_classes
from blockful_py.report.measures import (
    AD_F_LIKE,
    AD_R,
    LOGIT_AUC,
    MEMBERSHIP,
    Measure,
    concerned,
    is_ranked,
    left,
    mean_after,
    mean_before,
    ran,
    role_of,
)
from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.sections import Accuracies
from blockful_py.whole_file import write_whole


def render_html(report: Report) -> str:
    """The page.  Raises RunError if its script and style are not built."""
    environment = page_templates()
    environment.filters.update(count=_count)
    paradigms = ran(report)

    def outcomes(model: ModelEntry) -> list[Accuracies | None]:
        """Figures before, and after each paradigm that ran."""
        return [model.before, *(model.after(paradigm) for paradigm in paradigms)]

    return environment.get_template("report.html.j2").render(
        report=report,
        assets=page_assets(),
        summary=summary,
        paradigms=paradigms,
        concerned=concerned(report),
        columns=_columns(report),
        outcomes=outcomes,
        mean_before=mean_before,
        mean_after=mean_after,
        role_of=role_of,
        number={model.name: place for place, model in enumerate(report.models)},
        heirs=_heirs(report),
        lineage=lineage(report),
        passages=passage_charts(report),
        class_tables=class_tables(report),
        shown_classes=shown_classes(report),
        class_count=class_count(report),
        confusion_tables=confusion_tables(report),
        forget=report.forget.classes,
        curve_blocks=curve_blocks(report),
        second_bars=second_bars(report),
        gas_bars=gas_bars(report),
        settings=_flat(dict(report.settings)),
    )


def _columns(report: Report) -> list[Measure]:
    """Measures of the table of models."""
    measure = left(report)
    beside = [AD_F_LIKE] if measure is MEMBERSHIP else []
    return [measure, *beside, *([LOGIT_AUC] if is_ranked(report) else []), AD_R]


def write_report(report: Report, directory: Path) -> Path:
    """Writes report.html, then report.json: if the latter exists, the report is complete.

    Returns the page's path.  Raises RunError if the directory cannot be written.
    """
    page, advice = directory / "report.html", "make room for the report"
    write_whole(page, render_html(report).encode(), parents=True, advice=advice)
    write_whole(directory / "report.json", report.to_bytes(), parents=True, advice=advice)
    return page


def _heirs(report: Report) -> dict[str, list[str]]:
    """Models trained from each model."""
    found: dict[str, list[str]] = {model.name: [] for model in report.models}
    for model in report.models:
        for reference in dict.fromkeys(model.references):
            found[reference].append(model.name)
    return found


def _flat(settings: Mapping[str, JsonValue], prefix: str = "") -> list[tuple[str, str]]:
    """Settings as dotted names and values, sorted by name."""
    flat = []
    for name, value in sorted(settings.items()):
        if isinstance(value, dict) and value:
            flat += _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            flat.append((prefix + name, ", ".join(map(str, value))))
        else:
            flat.append((prefix + name, str(value)))
    return flat


def _count(value: float) -> str:
    return f"{value:,.0f}"
