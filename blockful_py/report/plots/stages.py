# SPDX-License-Identifier: Apache-2.0
"""Time and gas by stage and paradigm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from blockful_py.report.plots.canvas import Theme, clear_frame, figure, png
from blockful_py.report.schema import Report
from blockful_py.report.sections import STAGES, Gas
from blockful_py.types import Paradigm

Row = tuple[str, list[tuple[str, float]]]  # label of the row; (colour, length) of its bars


def stage_names(names: Sequence[str]) -> list[str]:
    """Names in the order they are shown: `STAGES` first, the rest by name."""
    return [stage for stage in STAGES if stage in names] + sorted(set(names) - set(STAGES))


def draw_stages(report: Report, theme: Theme) -> bytes:
    """PNG with seconds by stage on the left and gas by stage on the right."""
    seconds, gas = _second_rows(report, theme), _gas_rows(report, theme)
    rows = max(len(seconds), len(gas))
    height = 0.36 * rows + 1.15
    with figure(9.6, height, theme) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=(1.15, 1))
        _bars(left, seconds, rows, "{:.2f} s", theme)
        _bars(right, gas, rows, "{:,.0f}", theme)
        left.set_title("Seconds by stage", loc="left", fontsize=10, color=theme.ink)
        right.set_title("Gas by stage, both chains", loc="left", fontsize=10, color=theme.ink)
        handles = [
            Patch(color=theme.before, label="once"),
            Patch(color=theme.parallel, label="parallel"),
            Patch(color=theme.sequential, label="sequential"),
        ]
        drawn.legend(handles=handles, loc="lower left", ncol=3, fontsize=9)
        drawn.subplots_adjust(left=0.1, right=0.97, top=1 - 0.4 / height, bottom=0.45 / height, wspace=0.46)
        return png(drawn)


def _second_rows(report: Report, theme: Theme) -> list[Row]:
    seconds = report.seconds
    colours = _colours(theme)
    rows: list[Row] = [
        (name, [(theme.before, getattr(seconds, name))]) for name in ("setup", "train", "publish")
    ]
    for stage in stage_names([*seconds.parallel, *seconds.sequential]):
        bars = [
            (colours[paradigm], seconds.of(paradigm)[stage])
            for paradigm in Paradigm
            if stage in seconds.of(paradigm)
        ]
        rows.append((stage, bars))
    return [*rows, ("verify", [(theme.before, seconds.verify)])]


def _gas_rows(report: Report, theme: Theme) -> list[Row]:
    colours = _colours(theme)
    rows: list[Row] = []
    publication = report.gas.publication
    rows.append(("publish, archive", [(theme.before, publication.archive)]))
    rows.append(("publish, live", [(theme.before, publication.live)]))
    for chain in ("archive", "live"):
        spent: list[tuple[Paradigm, Gas]] = list(report.gas.each())
        bars = [(colours[paradigm], float(getattr(gas, chain))) for paradigm, gas in spent]
        rows.append((f"redact, {chain}", bars))
    return rows


def _colours(theme: Theme) -> Mapping[Paradigm, str]:
    return {Paradigm.PARALLEL: theme.parallel, Paradigm.SEQUENTIAL: theme.sequential}


def _bars(axes: Axes, rows: Sequence[Row], room: int, form: str, theme: Theme) -> None:
    longest = max((length for _, bars in rows for _, length in bars), default=0.0) or 1.0
    for place, (_, bars) in enumerate(rows):
        thickness = 0.76 / max(len(bars), 1) if len(bars) > 1 else 0.5
        for number, (colour, length) in enumerate(bars):
            at = place + (number - (len(bars) - 1) / 2) * thickness
            axes.barh(at, length, height=thickness * 0.9, color=colour)
            axes.annotate(
                form.format(length),
                (length, at),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=theme.ink,
            )
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.tick_params(axis="y", labelcolor=theme.ink)
    axes.set_ylim(room - 0.5, -0.5)
    axes.set_xlim(0, longest * 1.22)
    axes.set_xticks([])
    clear_frame(axes, keep=("left",))
