# SPDX-License-Identifier: Apache-2.0
"""The page stands alone and says what the report says; so does the printed table."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from blockful_py.costs import Operations
from blockful_py.report import summary
from blockful_py.report.html import render_html
from blockful_py.report.passes import SamplePasses
from blockful_py.report.plots import DARK, LIGHT, draw_all
from blockful_py.report.schema import Report
from blockful_py.report.sections import ByParadigm, FailedCheck, Gas, OperationsCheck, PrivacySection
from blockful_py.report.table import print_report
from blockful_py.types import Paradigm
from tests.report.made_up import paper_references, report_of, without_figures

VOID = {"meta", "img", "source", "br", "link"}


class Page(HTMLParser):
    """Collects images, links and table headers, and checks that tags nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


Plots = tuple[dict[str, bytes], dict[str, bytes]]


def draw(report: Report) -> Plots:
    return draw_all(report, LIGHT), draw_all(report, DARK)


def text_of(report: Report, plots: Plots) -> str:
    return Page(render_html(report, *plots)).text


def printed(report: Report, width: int = 80, directory: Path | None = None) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    print_report(report, console, directory)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def plots(paper14: Report) -> Plots:
    """Drawn once, also for pages whose text alone is looked at."""
    return draw(paper14)


@pytest.fixture(scope="module")
def html(paper14: Report, plots: Plots) -> str:
    return render_html(paper14, *plots)


def test_the_page_is_one_file_that_loads_nothing(html: str) -> None:
    page = Page(html)
    assert page.open == []
    assert not {"script", "link", "iframe"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        for name in ("src", "srcset", "href"):
            assert (attributes.get(name) or "data:image/png").startswith("data:image/png")
    assert "url(" not in html
    assert "@import" not in html


def test_the_page_can_be_read_by_everyone(html: str) -> None:
    page = Page(html)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(images) == 6
    assert all(len(image["alt"] or "") > 40 and image["width"] and image["height"] for image in images)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert sum(tag == "table" for tag, _ in page.tags) == sum(tag == "caption" for tag, _ in page.tags)
    assert ("html", {"lang": "en"}) in page.tags
    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html


def test_the_page_says_what_the_report_says(paper14: Report, html: str) -> None:
    text = Page(html).text
    assert summary.headline(paper14) in text
    for model in paper14.models:
        assert model.cid in text
        assert model.owner in text
    for line in summary.limits(paper14):
        assert line in text
    assert "committee.threshold" in text
    assert "NO" not in text.split()


def test_the_page_of_a_report_without_some_figures_leaves_them_out(paper14: Report, html: str) -> None:
    """As of private trainings."""
    without = without_figures(paper14)
    bare = text_of(without, draw(without))
    for heading in ("How the models learned", "Class by class"):
        assert heading in Page(html).text
        assert heading not in bare


def test_a_name_cannot_bring_markup_into_the_page() -> None:
    evil = "<script>alert(1)</script>"
    report = report_of({evil: (), "b": (evil,)}, (evil,))
    html = render_html(report, *draw(report))
    assert "<script" not in html


def test_failures_and_wrong_counts_are_shown(paper14: Report, plots: Plots) -> None:
    failure = FailedCheck(subject="r8", check="opening", detail="does not open its hash")
    wrong = OperationsCheck.of(counted=Operations(1, 1, 1, 1, 1), formula=Operations(2, 1, 1, 1, 1))
    bad = report_of(paper_references(), ("r5", "r7"), failed=(failure,)).model_copy(
        update={"operations": ByParadigm[OperationsCheck](parallel=wrong)}
    )
    text = text_of(bad, plots)
    assert "1 of 42 verifications failed" in text
    assert "does not open its hash" in text
    assert "NO" in text.split()
    table = " ".join(printed(bad).split())
    assert "differs from the formula" in table
    assert "r8: opening: does not open its hash" in table


def test_the_table_fits_a_terminal_of_eighty_columns(paper14: Report, tmp_path: Path) -> None:
    table = printed(paper14, directory=tmp_path)
    lines = [line for line in table.splitlines() if "report.html" not in line]
    assert max(map(len, lines)) <= 80
    assert "…" not in table
    assert str(tmp_path / "report.html") in table
    for model in summary.concerned(paper14):
        row = next(line for line in lines if re.match(rf" {model.name} +\d", line))
        assert f"{model.before.ad_f:.1f}" in row
        assert model.sequential is not None
        assert f"{model.sequential.ad_f:.1f}" in row
    assert not re.search(r"^ r14 ", table, re.MULTILINE)


def test_the_table_of_a_run_with_one_paradigm_or_none(paper14: Report, plots: Plots) -> None:
    models = tuple(m.model_copy(update={"parallel": None, "sequential": None}) for m in paper14.models)
    trained = paper14.model_copy(update={"models": models, "operations": ByParadigm[OperationsCheck]()})
    assert "nothing was replaced" in " ".join(printed(trained).split())
    assert "nothing was replaced" in text_of(trained, plots)


def test_the_table_leaves_out_what_another_command_did(paper14: Report) -> None:
    """`unlearn` reports on models that `train` published before."""
    nothing = Gas.spent(archive=0, live=0, models=14, transactions=0)
    later = paper14.model_copy(update={"gas": paper14.gas.model_copy(update={"publication": nothing})})
    assert "publish 179,345" in printed(paper14)
    assert "publish" not in printed(later)
    assert "train" not in printed(later)


def test_means_count_a_model_left_alone_as_it_was(paper14: Report) -> None:
    left = next(model for model in paper14.models if model.below_epsilon)
    removed = paper14.model_copy(
        update={
            "models": tuple(
                m.model_copy(update={"parallel": None}) if m is left else m for m in paper14.models
            )
        }
    )
    for figure in ("ad_f", "ad_r"):
        assert summary.mean_after(paper14, figure, Paradigm.PARALLEL) == pytest.approx(
            summary.mean_after(removed, figure, Paradigm.PARALLEL)
        )
    assert len(summary.updated(paper14, Paradigm.SEQUENTIAL)) == 7
    assert len(summary.updated(paper14, Paradigm.PARALLEL)) == 6


def test_the_page_says_which_increments_were_stored_and_what_the_request_took(
    paper14: Report, plots: Plots
) -> None:
    passes = SamplePasses(
        request=5376, longest_path=256, prepared=2960, stored=("r5", "r7"), made=("r6", "r8"),
        unusable={"r8": "r6 has changed since"},
    )  # fmt: skip
    report = paper14.model_copy(update={"passes": ByParadigm[SamplePasses](parallel=passes)})
    assert Report.from_bytes(report.to_bytes()).passes.parallel == passes
    text = text_of(report, plots)
    for said in (
        "Computation of the parallel request",
        "5,376 256 2,960",
        passes.said or "nothing",
        "r5 stored when the model was published",
        "r6 made for the request",
        "r8 made again, since the stored one is unusable: r6 has changed since",
    ):
        assert said in text
    assert "Computation of the sequential request" not in text


def test_a_request_without_increments_says_what_it_took_alone(paper14: Report, plots: Plots) -> None:
    passes = SamplePasses(request=2960, longest_path=2220, prepared=0)
    report = paper14.model_copy(update={"passes": ByParadigm[SamplePasses](parallel=passes)})
    text = text_of(report, plots)
    assert "2,960 2,220 0" in text
    assert "increment" not in text.lower()


def test_what_training_spent_of_privacy_is_shown_at_the_model(paper14: Report, plots: Plots) -> None:
    def of(epsilon: float) -> PrivacySection:
        return PrivacySection(epsilon=epsilon, delta=1e-5)

    models = tuple(
        model.model_copy(update={"privacy": of(i + 1.25) if i < 3 else None})
        for i, model in enumerate(paper14.models)
    )
    private = paper14.model_copy(update={"models": models})
    assert Report.from_bytes(private.to_bytes()) == private
    page = render_html(private, *plots)
    assert page.count("δ 1e-05") == 3
    assert "ε 2.25, δ 1e-05" in page
    assert summary.privacy(private) == "ε 1.25 to 3.25, δ 1e-05 a training, in 3 of 14 models"
    assert summary.privacy(paper14) is None
    assert "ε 1.25 to 3.25" in printed(private)


def test_the_page_and_the_table_say_what_became_of_the_keys(html: str, paper14: Report) -> None:
    said = "The data keys of some versions were destroyed at 2 members."
    assert f"Erasure, parallel: {said}" in Page(html).text
    assert "Erasure, sequential" not in Page(html).text
    assert f"parallel: {said}" in " ".join(printed(paper14, 160).split())


def test_theorem_1_is_about_changes_that_are_passed(paper14: Report, plots: Plots) -> None:
    assert "heorem 1" in text_of(paper14, plots)
    depth = paper14.depth.model_copy(update={"delta_norm": None})
    text = text_of(paper14.model_copy(update={"depth": depth}), plots)
    assert "heorem 1" not in text
    assert f"The longest path to a replaced model has {depth.observed} steps." in text
