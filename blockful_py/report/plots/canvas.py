# SPDX-License-Identifier: Apache-2.0
"""Themes, figures and PNG bytes; equal drawings give equal bytes, regardless of the user's matplotlibrc."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOTS_PER_INCH = 144


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours after Okabe and Ito (2008), distinguishable when colour-blind; shapes repeat them."""

    paper: str
    ink: str
    faint_ink: str
    line: str
    on_colour: str
    start: str
    affected: str
    untouched: str
    before: str
    parallel: str
    sequential: str


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b2430",
    faint_ink="#5b6675",
    line="#d5dae1",
    on_colour="#ffffff",
    start="#d55e00",
    affected="#0072b2",
    untouched="#e6e9ee",
    before="#7d8794",
    parallel="#009e73",
    sequential="#e69f00",
)


@contextmanager
def figure(width: float, height: float, theme: Theme) -> Iterator[Figure]:
    """A figure of this size in inches, drawn under matplotlib's defaults and the theme."""
    style: dict[str, Any] = {
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        "text.color": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.line,
        "axes.facecolor": theme.paper,
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "xtick.color": theme.faint_ink,
        "ytick.color": theme.faint_ink,
        "grid.color": theme.line,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
    }
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        parameters: Any = matplotlib.rcParams
        parameters.update(style)
        drawn = Figure(figsize=(width, height), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(drawn)
        yield drawn


def png(drawn: Figure) -> bytes:
    """PNG bytes without time, version or path.  Call it inside `figure`."""
    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return out.getvalue()


def clear_frame(axes: Axes, keep: tuple[str, ...] = ()) -> None:
    """Hides the tick marks and the axes' frame, except for the sides in `keep`."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep)
    axes.tick_params(length=0)


def heading(drawn: Figure, text: str, left: float, theme: Theme) -> None:
    """Writes `text` above the whole figure, `left` inches from its left edge."""
    width, height = drawn.get_size_inches()
    drawn.suptitle(
        text, x=left / width, y=1 - 0.12 / height, ha="left", va="top", fontsize=10, color=theme.ink
    )
