# SPDX-License-Identifier: Apache-2.0
"""Learning curves: loss and accuracy of each model by epoch, one panel per model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from blockful_py.report.plots.canvas import Theme, clear_frame, figure, png
from blockful_py.report.roles import Role, role_of
from blockful_py.report.schema import Report
from blockful_py.report.sections import LearningCurve

WIDE = 7
"""Panels of a row; with more than MANY_MODELS, WIDEST."""
MANY_MODELS, WIDEST = 21, 10
PANEL = (1.16, 0.74)  # inches
GAP = (0.1, 0.3)  # of a panel, to the next one
LEFT, RIGHT, TOP, BLOCK = 0.5, 0.15, 0.42, 0.3  # inches; a block's title takes BLOCK
LEAST_LOSS = 1e-4
"""Nats below which a loss is drawn as this."""


@dataclass(frozen=True, slots=True)
class Block:
    """One figure of all models.

    Attributes:
        values: of a curve.
        height: of a value, 0 at a panel's bottom, 1 at its top.
        ticks: values that the first panel of each row names.
    """

    title: str
    values: Callable[[LearningCurve], Sequence[float]]
    height: Callable[[float], float]
    ticks: Sequence[float]
    form: str


def draw_curves(report: Report, theme: Theme) -> bytes:
    """PNG with a panel a model in the order of publication, losses above accuracies; for a report with one
    curve at least.  Each panel runs from the model's first to its last epoch."""
    shown = [
        (model.name, role_of(model), model.learning_curve) for model in report.models if model.learning_curve
    ]
    columns = WIDEST if len(shown) > MANY_MODELS else WIDE
    rows = -(-len(shown) // columns)
    inside = PANEL[0] * (columns + GAP[0] * (columns - 1))
    tall = rows * PANEL[1] * (1 + GAP[1])
    width, height = LEFT + inside + RIGHT, TOP + 2 * (BLOCK + tall)
    colours = {
        Role.START: theme.start,
        Role.AFFECTED: theme.affected,
        Role.BELOW_EPSILON: theme.affected,
        Role.UNTOUCHED: theme.before,
    }
    with figure(width, height, theme) as drawn:
        for number, block in enumerate((_losses([curve for _, _, curve in shown]), ACCURACIES)):
            bottom = height - TOP - (number + 1) * (BLOCK + tall)
            axes = drawn.add_axes((LEFT / width, bottom / height, inside / width, tall / height))
            _draw(axes, block, shown, columns, colours, theme)
        roles = {role for _, role, _ in shown} - {Role.BELOW_EPSILON}
        drawn.legend(
            handles=[Line2D([], [], color=colours[role], label=role.value) for role in Role if role in roles],
            loc="upper left",
            ncol=3,
            fontsize=9,
        )
        return png(drawn)


ACCURACIES = Block(
    "Accuracy on the user's own training data, % (number: the last epoch's)",
    lambda curve: curve.accuracy,
    lambda value: value / 100,
    (0, 50, 100),
    "{:.0f}",
)


def _losses(curves: Sequence[LearningCurve]) -> Block:
    """On a logarithmic scale from the decade of the least loss to that of the greatest."""
    values = [max(value, LEAST_LOSS) for curve in curves for value in curve.loss]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    every = -(-(high - low) // 3)
    return Block(
        "Loss on the user's own training data, nats (number: the last epoch's)",
        lambda curve: curve.loss,
        lambda value: (math.log10(max(value, LEAST_LOSS)) - low) / (high - low),
        [10.0**power for power in range(low, high + 1, every)],
        "{:.2g}",
    )


def _draw(
    axes: Axes,
    block: Block,
    shown: Sequence[tuple[str, Role, LearningCurve]],
    columns: int,
    colours: dict[Role, str],
    theme: Theme,
) -> None:
    """All panels in one pair of axes, in which a panel is 1 wide and 1 high."""
    step = (1 + GAP[0], 1 + GAP[1])
    rows = -(-len(shown) // columns)
    frames, lines, grid = [], [], []
    for place, (name, role, curve) in enumerate(shown):
        x, y = place % columns * step[0], -(place // columns) * step[1]
        values = block.values(curve)
        frames.append(Rectangle((x, y), 1, 1))
        grid += [[(x, y + block.height(tick)), (x + 1, y + block.height(tick))] for tick in block.ticks]
        epochs = max(len(values) - 1, 1)
        lines.append([(x + epoch / epochs, y + block.height(each)) for epoch, each in enumerate(values)])
        named = f"{name}, {len(values)} {'epoch' if len(values) == 1 else 'epochs'}"
        axes.text(x, y + 1.07, named, color=colours[role], fontsize=6.5)
        axes.text(x + 1, y + 1.07, block.form.format(values[-1]), ha="right", fontsize=6.5)
        if place % columns == 0:
            for tick in block.ticks:
                axes.text(
                    x - 0.04,
                    y + block.height(tick),
                    f"{tick:g}",
                    color=theme.faint_ink,
                    fontsize=6.5,
                    ha="right",
                    va="center",
                )
    axes.add_collection(
        PatchCollection(frames, facecolor="none", edgecolor=theme.line, linewidth=0.6, clip_on=False)
    )
    axes.add_collection(LineCollection(grid, colors=theme.line, linewidths=0.5))
    axes.add_collection(
        LineCollection(lines, colors=[colours[role] for _, role, _ in shown], linewidths=1.4, clip_on=False)
    )
    right, up = zip(*(line[-1] for line in lines), strict=True)
    axes.scatter(right, up, s=7, c=[colours[role] for _, role, _ in shown], clip_on=False)
    axes.set_xlim(0, columns * step[0] - GAP[0])
    axes.set_ylim(1 - rows * step[1], step[1])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(block.title, loc="left", fontsize=9.5, color=theme.ink, pad=4)
    clear_frame(axes)
