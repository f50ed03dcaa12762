# SPDX-License-Identifier: Apache-2.0
"""Bars of the seconds and gas of each stage; stages that did not run have no bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockful_py.report.schema import Report
from blockful_py.report.sections import STAGES

ONCE = "once"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar; `kind` is "once" or the paradigm, `length` is in percent of the chart's longest bar."""

    kind: str
    value: float
    text: str
    length: float


@dataclass(frozen=True, slots=True)
class BarRow:
    name: str
    bars: tuple[Bar, ...]


def stage_names(names: Sequence[str]) -> list[str]:
    """Names in display order: `STAGES` first, the rest by name."""
    return [stage for stage in STAGES if stage in names] + sorted(set(names) - set(STAGES))


def second_bars(report: Report) -> list[BarRow]:
    """Wall-clock seconds by stage."""
    seconds = report.seconds
    rows: list[tuple[str, Mapping[str, float]]] = [
        (name, {ONCE: getattr(seconds, name)}) for name in ("setup", "train", "publish")
    ]
    for stage in stage_names([*seconds.parallel, *seconds.sequential]):
        spent = {"parallel": seconds.parallel, "sequential": seconds.sequential}
        rows.append((stage, {kind: each[stage] for kind, each in spent.items() if stage in each}))
    rows.append(("verify", {ONCE: seconds.verify}))
    return _rows(rows, "{:.2f} s")


def gas_bars(report: Report) -> list[BarRow]:
    """Gas by operation and chain."""
    spent = {ONCE: report.gas.publication} | {str(p): gas for p, gas in report.gas.each()}
    rows: list[tuple[str, Mapping[str, float]]] = []
    for name, kinds in (("publish", (ONCE,)), ("redact", tuple(spent)[1:])):
        for chain in ("archive", "live"):
            rows.append((f"{name}, {chain}", {kind: getattr(spent[kind], chain) for kind in kinds}))
    return _rows(rows, "{:,.0f}")


def _rows(rows: Sequence[tuple[str, Mapping[str, float]]], form: str) -> list[BarRow]:
    longest = max((value for _, bars in rows for value in bars.values()), default=0.0)
    return [
        BarRow(
            name,
            tuple(
                Bar(kind, value, form.format(value), round(100 * value / longest, 2))
                for kind, value in bars.items()
                if value
            ),
        )
        for name, bars in rows
        if any(bars.values())
    ]
