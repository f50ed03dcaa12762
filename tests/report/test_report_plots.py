# SPDX-License-Identifier: Apache-2.0
"""Plots depend on the report and the theme alone, and leave matplotlib as it was."""

from __future__ import annotations

import struct

import matplotlib
import pytest

from blockful_py.report.plots import (
    DARK,
    LIGHT,
    Theme,
    draw_accuracy,
    draw_all,
    draw_classes,
    draw_confusions,
    draw_curves,
    draw_inheritance,
    draw_stages,
)
from blockful_py.report.plots.classes import ClassPanel, class_panels
from blockful_py.report.plots.confusion import confusion_panels
from blockful_py.report.plots.stages import stage_names
from blockful_py.report.schema import Report
from blockful_py.report.sections import LearningCurve
from tests.report.made_up import paper_references, report_of

ALWAYS = {"inheritance", "accuracy", "stages"}
WITH_FIGURES = {"curves", "classes", "confusions"}


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_a_plot_says_nothing_of_when_and_with_what_it_was_drawn(theme: Theme, paper14: Report) -> None:
    assert b"tEXt" not in draw_inheritance(paper14, theme)


def test_only_the_plot_of_seconds_depends_on_times(paper14: Report) -> None:
    slower = report_of(paper_references(), ("r5", "r7"), train_seconds=20.0)
    assert draw_inheritance(slower, LIGHT) == draw_inheritance(paper14, LIGHT)
    assert draw_accuracy(slower, LIGHT) == draw_accuracy(paper14, LIGHT)
    assert draw_stages(slower, LIGHT) != draw_stages(paper14, LIGHT)


def test_the_users_matplotlib_settings_neither_matter_nor_change(paper14: Report) -> None:
    expected = draw_accuracy(paper14, LIGHT)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "lines.markersize": 40}):
        before = dict(matplotlib.rcParams)
        assert draw_accuracy(paper14, LIGHT) == expected
        assert dict(matplotlib.rcParams) == before


def test_sixty_models_get_the_room_that_fourteen_do_not_need(paper14: Report, organic60: Report) -> None:
    for draw in (draw_inheritance, draw_accuracy):
        small, large = size(draw(paper14, LIGHT)), size(draw(organic60, LIGHT))
        assert large[0] > 2 * small[0]
        assert max(large) < 2**13


def test_every_kind_of_report_can_be_drawn() -> None:
    lone = report_of({"r1": ()}, ("r1",))
    long_names = report_of({"user-05-a": (), "user-07-b": ("user-05-a",)}, ("user-05-a",))
    unmeasured = lone.model_copy(
        update={"models": tuple(m.model_copy(update={"parallel": None}) for m in lone.models)}
    )
    for report in (lone, long_names, unmeasured):
        assert set(draw_all(report)) == {*ALWAYS, *WITH_FIGURES}


def test_a_curve_is_drawn_whatever_it_does(paper14: Report) -> None:
    seen = set()
    for loss, accuracy in (((0.0,), (100.0,)), ((2.3, 40.0), (0.0, 10.0)), ((1e-9, 1e-9), (100.0, 100.0))):
        curve = LearningCurve(loss=loss, accuracy=accuracy)
        first = paper14.models[0].model_copy(update={"learning_curve": curve})
        seen.add(draw_curves(paper14.model_copy(update={"models": (first, *paper14.models[1:])}), LIGHT))
    assert len(seen) == 3


def test_figures_of_classes_have_room_and_marks(paper14: Report, organic60: Report) -> None:
    few, many = (draw_classes(*class_panels(report), forget=(3,)) for report in (paper14, organic60))
    assert size(many)[1] > 2 * size(few)[1]
    assert size(many)[0] == size(few)[0]
    assert draw_classes(*class_panels(paper14)) != few
    hundred = ClassPanel("", [[50.0] * 99 + [None]] * 3, [1.0] * 3)
    assert size(draw_classes(["a", "b", "c"], [hundred], (70,)))[0] < 2 * size(few)[0]


def test_a_confusion_matrix_stands_alone_or_beside_others(paper14: Report) -> None:
    panels = confusion_panels(paper14)
    assert list(panels) == ["before", "after parallel", "after sequential"]
    three, one = draw_confusions(panels), draw_confusions({"before": panels["before"]})
    assert size(three)[0] > size(one)[0]
    seen = [(0.5, 0.25, 4), (0.9, 1.0, 60)]
    assert draw_confusions({"r1": panels["before"]}, reliability=seen) != one
    nobody = draw_confusions({"r1": [[0, 0], [0, 0]]})  # a class without samples
    assert size(nobody)[1] > 0


def test_models_without_a_curve_have_no_panel(paper14: Report, organic60: Report) -> None:
    alone = paper14.models[0]
    rest = tuple(model.model_copy(update={"learning_curve": None}) for model in paper14.models[1:])
    one = paper14.model_copy(update={"models": (alone, *rest)})
    assert size(draw_curves(one, LIGHT))[1] < size(draw_curves(paper14, LIGHT))[1]
    assert size(draw_curves(organic60, LIGHT))[1] > 2 * size(draw_curves(paper14, LIGHT))[1]


def test_stages_are_shown_in_the_order_they_happen() -> None:
    assert stage_names(["live", "zeta", "archive", "unlearn", "live"]) == [
        "unlearn",
        "archive",
        "live",
        "zeta",
    ]
