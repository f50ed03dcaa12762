# SPDX-License-Identifier: Apache-2.0
"""The risk that too many members are malicious, over committee size and pool size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.figure import Figure

from blockful_py.report.plots.canvas import Theme, clear_frame, figure, png

FLOOR = 1e-12
"""Minimum risk that is drawn; smaller risks are raised to it."""
BAND = 2
"""Powers of ten per colour."""


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """Risks by committee size: `risks[i]` is for i + 1 members drawn from `pool` candidates."""

    pool: int
    malicious: int
    risks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RiskPlot:
    """Data of both panels: `curve` with `size` marked, and `field`.

    `field` has ascending pools with one malicious share.
    """

    rho: float
    size: int
    curve: RiskCurve
    field: tuple[RiskCurve, ...]
    target: float | None = None


def draw_risk(plot: RiskPlot, theme: Theme) -> bytes:
    """PNG with the risk over size on the left, and over size and pool on the right."""
    with figure(10.4, 4.6, theme) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=(1, 1.12))
        _sizes(left, plot, theme)
        _pools(drawn, right, plot, theme)
        drawn.subplots_adjust(left=0.075, right=0.97, top=0.86, bottom=0.12, wspace=0.2)
        return png(drawn)


def _sizes(axes: Axes, plot: RiskPlot, theme: Theme) -> None:
    curve = plot.curve
    sizes = range(1, len(curve.risks) + 1)
    steps = [(size, risk) for size, risk in zip(sizes, curve.risks, strict=True) if risk > FLOOR]
    axes.plot(*_columns(steps), color=theme.affected, linewidth=1.1, zorder=2)
    best = [(size, risk) for size, risk in steps if size % 3 == 1]
    rest = [(size, risk) for size, risk in steps if size % 3 != 1]
    marker = max(2.0, min(5.0, 200 / len(curve.risks)))
    axes.plot(*_columns(best), "o", color=theme.affected, markersize=marker, label="n = 3f + 1", zorder=3)
    axes.plot(
        *_columns(rest), "o", color=theme.affected, markerfacecolor=theme.paper, markersize=0.9 * marker,
        label="other sizes", zorder=3,
    )  # fmt: skip
    marked = curve.risks[plot.size - 1]
    if marked > FLOOR:
        axes.plot([plot.size], [marked], "D", color=theme.start, markersize=8, zorder=4,
                  label=f"n = {plot.size}: {marked:.3g}")  # fmt: skip
    if plot.target is not None and plot.target >= FLOOR:
        axes.axhline(plot.target, color=theme.start, linewidth=1.0, linestyle=(0, (5, 3)), zorder=1,
                     label=f"wanted: {plot.target:.3g}")  # fmt: skip
    axes.set_yscale("log")
    lowest = min([risk for _, risk in steps] + [plot.target or 1.0])
    axes.set_ylim(max(FLOOR, 10 ** math.floor(math.log10(max(lowest, FLOOR)))), 1.5)
    axes.set_xlim(0, len(curve.risks) + 1)
    axes.set_xlabel("members n")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    clear_frame(axes)
    axes.legend(loc="upper right", fontsize=8.5)
    title = f"Risk over size: {curve.malicious} of {curve.pool} malicious, rho = {plot.rho:g}"
    axes.set_title(title, loc="left", fontsize=10, color=theme.ink)


def _pools(drawn: Figure, axes: Axes, plot: RiskPlot, theme: Theme) -> None:
    pools = [curve.pool for curve in plot.field]
    most = max(pools)
    # (sizes, pools): NaN for a committee larger than its pool
    exponents = np.full((most, len(pools)), np.nan)
    for column, curve in enumerate(plot.field):
        exponents[: len(curve.risks), column] = np.log10(np.maximum(curve.risks, FLOOR))
    powers = list(range(round(math.log10(FLOOR)), 1, BAND))
    stops = [(0.0, theme.untouched), (0.6, theme.affected), (0.8, theme.sequential), (1.0, theme.start)]
    colours = LinearSegmentedColormap.from_list("risk", stops).with_extremes(bad=theme.paper)
    shown = axes.pcolormesh(
        _edges(pools), np.arange(most + 1) + 0.5, exponents, cmap=colours,
        norm=BoundaryNorm(powers, colours.N), rasterized=True,
    )  # fmt: skip
    bar = drawn.colorbar(shown, ax=axes, ticks=powers, pad=0.02)
    bar.ax.set_yticklabels([f"$\\leq 10^{{{power}}}$" if power == powers[0] else f"$10^{{{power}}}$"
                            for power in powers])  # fmt: skip
    bar.ax.tick_params(length=0, labelsize=8)
    bar.outline.set_visible(False)
    axes.plot(
        [plot.curve.pool], [plot.size], "D", color=theme.start, markeredgecolor=theme.paper, markersize=8
    )
    axes.set_xlim(min(pools) - 0.5, most + 0.5)
    axes.set_xlabel("candidates in the pool")
    axes.set_ylabel("members n")
    clear_frame(axes)
    share = plot.curve.malicious / plot.curve.pool
    title = f"Risk over size and pool: {share:.0%} malicious, rho = {plot.rho:g}"
    axes.set_title(title, loc="left", fontsize=10, color=theme.ink)


def _edges(pools: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Borders of columns around ascending pools."""
    middle = (np.asarray(pools[:-1]) + np.asarray(pools[1:])) / 2
    return np.concatenate([[pools[0] - 0.5], middle, [pools[-1] + 0.5]])


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [size for size, _ in points], [risk for _, risk in points]
