# SPDX-License-Identifier: Apache-2.0
"""Plots depend on their figures and the theme alone, and leave matplotlib as it was."""

from __future__ import annotations

import struct

import matplotlib

from blockful_py.report.plots.classes import ClassPanel, draw_classes
from blockful_py.report.plots.confusion import DRAWN, draw_confusions


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def panel(models: int, classes: int = 10) -> tuple[list[str], list[ClassPanel]]:
    rows = [[50.0] * (classes - 1) + [None]] * models
    return [f"r{i + 1}" for i in range(models)], [ClassPanel("", rows, [1.0] * models)]


def test_a_plot_says_nothing_of_when_and_with_what_it_was_drawn() -> None:
    assert b"tEXt" not in draw_classes(*panel(3))


def test_the_users_matplotlib_settings_neither_matter_nor_change() -> None:
    expected = draw_classes(*panel(3))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.markersize": 40}):
        before = dict(matplotlib.rcParams)
        assert draw_classes(*panel(3)) == expected
        assert dict(matplotlib.rcParams) == before


def test_figures_of_classes_have_room_and_marks() -> None:
    few, many = draw_classes(*panel(9), forget=(3,)), draw_classes(*panel(40), forget=(3,))
    assert size(many)[1] > 2 * size(few)[1]
    assert size(many)[0] == size(few)[0]
    assert draw_classes(*panel(9)) != few
    assert size(draw_classes(*panel(3, 100), (70,)))[0] < 2 * size(few)[0]


def test_a_confusion_matrix_stands_alone_or_beside_others() -> None:
    counts = [(label, label, 10) for label in range(10)]
    three, one = draw_confusions(dict.fromkeys("abc", counts), 10), draw_confusions({"a": counts}, 10)
    assert size(three)[0] > size(one)[0]
    seen = [(0.5, 0.25, 4), (0.9, 1.0, 60)]
    assert draw_confusions({"r1": counts}, 10, reliability=seen) != one
    nobody = draw_confusions({"r1": []}, 2)  # classes without samples
    assert size(nobody)[1] > 0


def test_of_thousands_of_classes_those_with_most_mistakes_are_drawn() -> None:
    right = [(label, label, 5) for label in range(12_000)]
    wrong = [(label, 0, 1) for label in range(11_000, 11_000 + DRAWN)]
    many = draw_confusions({"a": [*right, *wrong]}, 12_000, forget=(3,))
    assert size(many) == size(draw_confusions({"a": right[:DRAWN]}, DRAWN))
    others = draw_confusions({"a": [*right, (5, 0, 9), *wrong]}, 12_000, forget=(3,))
    assert others != many
    assert draw_confusions({"a": [*right, (8_000, 1, 1)]}, 12_000) != draw_confusions({"a": right}, 12_000)
