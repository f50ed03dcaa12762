# SPDX-License-Identifier: Apache-2.0
"""Draws committee-states.png: python docs/images/committee_states.py"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

INK, PAPER, QUIET, BAD = "#1f2933", "#ffffff", "#eef2f6", "#b42318"
WIDTH, HEIGHT = 1.9, 0.62


@dataclass(frozen=True)
class Machine:
    """States at (x, y); arrows (from, to, label, position of the label, bend, is bad), bad ones in red."""

    title: str
    states: dict[str, tuple[float, float]]
    arrows: tuple[tuple[str, str, str, tuple[float, float], float, bool], ...]
    end: str


MEMBER = Machine(
    "A proposal in the memory of one member",
    {"unknown": (0, 0), "approved": (4, 0), "committed": (8, 0), "voted": (4, -2)},
    (
        ("unknown", "approved", "approve: its own\nchecks hold", (2, 0.38), 0, False),
        ("unknown", "unknown", "checks fail: refused, alarm; may be asked again", (0.3, 1.25), 0, True),
        ("approved", "committed", "commit: session noted,\nnonces handed out", (6, 1.0), -0.3, False),
        (
            "committed",
            "approved",
            "sign: nonces deleted, share given;\nor restart: nonces gone",
            (6.2, -0.98),
            -0.3,
            False,
        ),
        ("approved", "voted", "vote: every\nopening verifies", (3.0, -1.0), 0, False),
        ("voted", "voted", "any other content: refused for good", (6.9, -2), 0, True),
    ),
    "voted",
)
REQUEST = Machine(
    "A request, and what becomes of it when its leader is gone",
    {"pending": (0, 0), "certified": (4, 0), "archived": (8, 0), "live": (12, 0), "dropped": (0, -2)},
    (
        ("pending", "certified", "review, collisions,\nvotes of a quorum", (2, 0.42), 0, False),
        ("certified", "archived", "archive's\ntransactions", (6, 0.42), 0, False),
        ("archived", "live", "live chain's\ntransactions", (10, 0.42), 0, False),
        ("pending", "pending", "leader gone for takeover_seconds:\na member leads", (0.3, 1.35), 0, False),
        (
            "certified",
            "certified",
            "no progress for stall_seconds:\na member sends what is missing",
            (4.3, 1.35),
            0,
            False,
        ),
        ("archived", "archived", "as before", (8.3, 1.25), 0, False),
        (
            "pending",
            "dropped",
            "too few approve: nothing changed,\nalarms on the home chain",
            (2.1, -1.0),
            0,
            True,
        ),
    ),
    "live",
)
ELECTION = Machine(
    "An election on the home chain",
    {"Idle": (0, 0), "Commit": (3.4, 0), "Reveal": (6.8, 0), "Prove": (10.2, 0), "Confirm": (13.6, 0)},
    (
        ("Idle", "Commit", "epoch had its\nleast length", (1.7, 0.42), 0, False),
        ("Commit", "Reveal", "time over", (5.1, 0.25), 0, False),
        ("Reveal", "Prove", "all revealed:\nseed drawn", (8.5, 0.42), 0, False),
        ("Prove", "Confirm", "n smallest\noutputs", (11.9, 0.42), 0, False),
        ("Reveal", "Commit", "a secret withheld: new draw without it", (5.6, 1.28), 0.6, True),
        ("Confirm", "Confirm", "no quorum for one key: generated again", (12.9, 1.25), 0, True),
        ("Confirm", "Idle", "a quorum confirms one key: epoch + 1", (6.8, -1.62), -0.16, False),
        (
            "Commit",
            "Idle",
            "too few: void; also after Prove,\nand after Confirm's last attempt",
            (1.2, 1.4),
            0.6,
            True,
        ),
    ),
    "Confirm",
)


def draw(axes: Axes, machine: Machine) -> None:
    axes.set_title(machine.title, loc="left", fontsize=11, color=INK, fontweight="bold")
    for name, (x, y) in machine.states.items():
        box = FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2),
            WIDTH,
            HEIGHT,
            boxstyle="round,pad=0.02,rounding_size=0.2",
            facecolor=QUIET,
            edgecolor=INK,
            linewidth=2.0 if name == machine.end else 1.0,
            zorder=2,
        )
        axes.add_patch(box)
        axes.text(x, y, name, ha="center", va="center", fontsize=10, color=INK, zorder=3)
    for begin, end, label, place, bend, bad in machine.arrows:
        colour = BAD if bad else INK
        start, stop = _ends(machine.states[begin], machine.states[end], bend)
        if begin == end:
            bend = -1.4
        axes.add_patch(
            FancyArrowPatch(
                start,
                stop,
                connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-|>",
                mutation_scale=11,
                color=colour,
                linewidth=1.0,
                shrinkA=0,
                shrinkB=0,
                zorder=1,
            )
        )
        axes.text(*place, label, ha="center", va="center", fontsize=8, color=colour, zorder=4)
    xs, ys = zip(*machine.states.values(), strict=True)
    axes.set_xlim(min(xs) - 2.2, max(xs) + 2.2)
    axes.set_ylim(min(ys) - (1.8 if min(ys) == 0 else 0.6), max(ys) + 1.8)
    axes.set_aspect("equal")
    axes.axis("off")


def _ends(a: tuple[float, float], b: tuple[float, float], bend: float) -> tuple[tuple[float, float], ...]:
    """The points at which an arrow leaves one box and meets the other."""
    (ax, ay), (bx, by) = a, b
    if a == b:
        return (
            ((ax - 0.4, ay + HEIGHT / 2), (ax + 0.4, ay + HEIGHT / 2))
            if ay == 0
            else ((ax + WIDTH / 2, ay + 0.15), (ax + WIDTH / 2, ay - 0.15))
        )
    if ax == bx:
        side = 1 if by > ay else -1
        return (ax, ay + side * HEIGHT / 2), (bx, by - side * HEIGHT / 2)
    side = 1 if bx > ax else -1
    if bend:
        up = (1 if bend * side < 0 else -1) * HEIGHT / 2
        return (ax + side * 0.5, ay + up), (bx - side * 0.5, by + up)
    return (ax + side * WIDTH / 2, ay), (bx - side * WIDTH / 2, by)


def main() -> None:
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure = Figure(figsize=(11, 10.5), facecolor=PAPER)
    for axes, machine in zip(figure.subplots(3, 1), (MEMBER, REQUEST, ELECTION), strict=True):
        draw(axes, machine)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("committee-states.png"), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
