# SPDX-License-Identifier: Apache-2.0
"""The figures of the page show the report's figures, and nothing that did not run."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.report.drawing.bars import gas_bars, second_bars, stage_names
from blockful_py.report.drawing.curves import curve_blocks
from blockful_py.report.drawing.lineage import lineage
from blockful_py.report.drawing.passages import passage_charts
from blockful_py.report.drawing.shades import SHADES, class_tables, confusion_tables, shown_classes
from blockful_py.report.html import render_html
from blockful_py.report.measures import AD_R, MEMBERSHIP, concerned
from blockful_py.report.schema import Report
from blockful_py.report.sections import READABLE_CLASSES, Gas, LearningCurve
from blockful_py.types import Paradigm
from tests.report.made_up import of_client, one_paradigm, without_figures


def test_the_graph_has_every_model_and_reference_apart(paper14: Report, organic60: Report) -> None:
    for report in (paper14, organic60):
        drawn = lineage(report)
        assert [node.model for node in drawn.nodes] == list(report.models)
        assert len({(node.x, node.y) for node in drawn.nodes}) == len(report.models)
        names = [model.name for model in report.models]
        edges = {(names[edge.reference], names[edge.heir]) for edge in drawn.edges}
        assert edges == {(reference, m.name) for m in report.models for reference in m.references}
        assert all(0 < node.x < drawn.width and 0 < node.y < drawn.height for node in drawn.nodes)
        carried = {names[edge.heir] for edge in drawn.edges if edge.carries}
        assert carried == {model.name for model in report.models if model.affected and not model.start}


def test_a_node_says_what_its_model_got(paper14: Report) -> None:
    for node in lineage(paper14).nodes:
        model = node.model
        if not model.affected:
            assert node.got == ""
            continue
        assert model.parallel is not None and model.sequential is not None
        values = [f"{state.ad_f:.0f}" for state in (model.before, model.parallel, model.sequential)]
        assert node.got == f"{values[0]} → {values[1]} · {values[2]}"


def test_marks_stand_where_their_values_are(paper14: Report) -> None:
    for chart in passage_charts(paper14):
        assert [row.model for row in chart.rows] == concerned(paper14)
        for row in chart.rows:
            assert [mark.state for mark in row.marks] == ["before", "parallel", "sequential"]
            for mark in row.marks:
                assert mark.at == pytest.approx(chart.axis.at(mark.value), abs=0.01)
        assert next(row.heading for row in chart.rows if row.heading) == "starts"


def test_only_what_ran_has_marks_bars_and_tables(paper14: Report) -> None:
    alone = one_paradigm(paper14, Paradigm.PARALLEL)
    assert all(chart.states == ("before", "parallel") for chart in passage_charts(alone))
    kinds = {bar.kind for row in (*second_bars(alone), *gas_bars(alone)) for bar in row.bars}
    assert kinds == {"once", "parallel"}
    titles = [table.title for table in (*class_tables(alone), *confusion_tables(alone))]
    assert titles == ["before", "after parallel"] * 2


def test_stages_of_another_command_have_no_bars(paper14: Report) -> None:
    nothing = Gas.spent(archive=0, live=0, models=14, transactions=0)
    seconds = paper14.seconds.model_copy(update={"setup": 0, "train": 0, "publish": 0})
    later = paper14.model_copy(
        update={"seconds": seconds, "gas": paper14.gas.model_copy(update={"publication": nothing})}
    )
    assert [row.name for row in second_bars(paper14)][:3] == ["setup", "train", "publish"]
    assert next(row.name for row in second_bars(later)) == "unlearn"
    assert [row.name for row in gas_bars(later)] == ["redact, archive", "redact, live"]


def test_bars_are_as_long_as_their_values(paper14: Report) -> None:
    for rows in (second_bars(paper14), gas_bars(paper14)):
        bars = [bar for row in rows for bar in row.bars]
        longest = max(bar.value for bar in bars)
        assert [bar.length for bar in bars] == [
            pytest.approx(100 * b.value / longest, abs=0.01) for b in bars
        ]


def test_of_clients_membership_is_drawn_beside_models_outside_the_request(paper14: Report) -> None:
    first, second = passage_charts(of_client(paper14))
    assert first.measure is MEMBERSHIP
    assert second.measure is AD_R
    assert first.landmark is not None
    outside = [m.before.membership_auc or 0 for m in of_client(paper14).models if not m.affected]
    assert first.landmark[0] == pytest.approx(sum(outside) / len(outside))
    assert first.axis.low <= first.landmark[0] <= first.axis.high


def test_shades_grow_with_the_figures(paper14: Report) -> None:
    for table in (*class_tables(paper14), *confusion_tables(paper14)):
        for row in table.rows:
            for cell in row.cells:
                assert cell.value is None or cell.shade == round(cell.value * SHADES / 100)
    before, *_ = confusion_tables(paper14)
    assert [row.cells[i].value for i, row in enumerate(before.rows)] == [100] * 10


def of_classes(report: Report, count: int) -> Report:
    """The same with more classes; the last lost most."""

    def widened(figures: Any, *, is_before: bool) -> Any:
        shares = (*figures.per_class, *[50.0] * (count - 11), 90.0 if is_before else 20.0)
        return figures.model_copy(update={"per_class": shares})

    models = [
        model.model_copy(
            update={
                "before": widened(model.before, is_before=True),
                **{
                    paradigm.value: outcome and widened(outcome, is_before=False)
                    for paradigm in Paradigm
                    for outcome in [model.after(paradigm)]
                },
            }
        )
        for model in report.models
    ]
    return report.model_copy(update={"models": tuple(models), "confusions": None})


def test_of_thousands_of_classes_the_tables_have_those_that_matter(paper14: Report) -> None:
    assert shown_classes(paper14) == tuple(range(10))
    many = of_classes(paper14, 12_000)
    shown = shown_classes(many)
    assert len(shown) == READABLE_CLASSES and {3, 11_999} < set(shown)
    assert all(len(row.cells) == READABLE_CLASSES for table in class_tables(many) for row in table.rows)
    page = render_html(many)
    assert "Shown are 30 of 12,000 classes" in page and '<th scope="col">11999</th>' in page
    assert "classes: those to be forgotten" not in render_html(paper14)


@pytest.mark.parametrize(
    ("loss", "accuracy"),
    [((0.0,), (100.0,)), ((2.3, 40.0), (0.0, 10.0)), ((1e-9, 1e-9), (100.0, 100.0))],
)
def test_a_curve_stays_in_its_panel_whatever_it_does(
    paper14: Report, loss: tuple[float, ...], accuracy: tuple[float, ...]
) -> None:
    curve = LearningCurve(loss=loss, accuracy=accuracy)
    first = paper14.models[0].model_copy(update={"learning_curve": curve})
    for block in curve_blocks(paper14.model_copy(update={"models": (first, *paper14.models[1:])})):
        assert len(block.panels) == 14
        assert len(block.panels[0].values) == len(loss)
        assert all(0 <= x <= 100 and 0 <= y <= 100 for panel in block.panels for x, y in panel.points)


def test_a_report_without_figures_has_none_of_their_tables(paper14: Report) -> None:
    bare = without_figures(paper14)
    assert not [*curve_blocks(bare), *class_tables(bare), *confusion_tables(bare)]


def test_stages_are_shown_in_the_order_they_happen() -> None:
    assert stage_names(["live", "zeta", "archive", "unlearn", "live"]) == [
        "unlearn",
        "archive",
        "live",
        "zeta",
    ]
