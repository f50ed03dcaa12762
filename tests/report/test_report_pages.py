# SPDX-License-Identifier: Apache-2.0
"""The page stands alone and matches the report, and so does the printed table."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from blockful_py.costs import Operations
from blockful_py.errors import RunError
from blockful_py.report import measures, summary
from blockful_py.report.assets import page_assets
from blockful_py.report.html import render_html
from blockful_py.report.passes import SamplePasses
from blockful_py.report.schema import Report
from blockful_py.report.sections import ByParadigm, FailedCheck, Gas, OperationsCheck, PrivacySection
from blockful_py.report.table import print_report
from blockful_py.types import Paradigm
from tests.report.made_up import of_client, one_paradigm, paper_references, report_of, without_figures

VOID = {"meta", "img", "source", "br", "link"}


class Page(HTMLParser):
    """Collects tags, words and the cells of tables, and checks that tags nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def with_attribute(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.tags if name in attributes]


def text_of(report: Report) -> str:
    return Page(render_html(report)).text


def printed(report: Report, width: int = 80, directory: Path | None = None) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    print_report(report, console, directory)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def html(paper14: Report) -> str:
    return render_html(paper14)


def test_the_page_is_one_file_that_loads_nothing(html: str) -> None:
    page = Page(html)
    assert page.open == []
    assert not {"link", "iframe", "img", "picture", "object"} & {tag for tag, _ in page.tags}
    assert not page.with_attribute("src")
    assert not page.with_attribute("style")
    links = [attributes["href"] or "" for attributes in page.with_attribute("href")]
    assert links
    assert all(link.startswith("#") or link == "report.json" for link in links)
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_the_pages_own_script_and_style_and_no_address(html: str) -> None:
    policy = next(a["content"] for t, a in Page(html).tags if t == "meta" and "http-equiv" in a) or ""
    assets = page_assets()
    assert policy == assets.policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert f"<script>{assets.script}</script>" in html
    assert f"<style>{assets.style}</style>" in html


def test_a_page_that_is_not_built_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="run `make setup`"):
        page_assets(tmp_path)
    (tmp_path / "report.css").write_text("a{}")
    (tmp_path / "report.js").write_text("'</script>'")
    with pytest.raises(RunError, match="cannot be embedded in a page"):
        page_assets(tmp_path)
    (tmp_path / "report.js").write_text("1")
    assert page_assets(tmp_path).script == "1"


def test_the_page_can_be_read_by_everyone(html: str) -> None:
    page = Page(html)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    assert sum(tag == "table" for tag, _ in page.tags) == sum(tag == "caption" for tag, _ in page.tags)
    for attributes in page.with_attribute("tabindex"):
        assert attributes.get("aria-label") or attributes["tabindex"] == "-1"
    assert ("html", {"lang": "en"}) in page.tags
    assert "prefers-color-scheme" in html
    assert "@media print" in html
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


def test_the_pages_figures_are_those_of_report_json(paper14: Report, html: str) -> None:
    document = json.loads(paper14.to_bytes())
    page = Page(html)
    rows = {row[0]: row for row in page.rows if len(row) == 14}
    marks = [
        attributes for attributes in page.with_attribute("title") if attributes.get("class") == "passage"
    ]
    for number, model in enumerate(document["models"]):
        states = [model["before"], model["parallel"], model["sequential"]]
        for first, figure in ((6, "ad_f"), (9, "ad_r")):
            for cell, state in zip(rows[model["name"]][first : first + 3], states, strict=True):
                shown = [state[figure], state[f"{figure}_train"]] if state else []
                assert cell.split() == ([f"{value:.1f}" for value in shown] or ["–"])
            if not model["affected"]:
                continue
            (tip,) = [
                mark["title"] or ""
                for mark in marks
                if mark["href"] == f"#model-{number}" and figure.replace("ad", "AD") in (mark["title"] or "")
            ]
            assert re.findall(r"[\d.]+ %", tip) == [f"{state[figure]:.1f} %" for state in states]
    for spent in (document["gas"]["publication"], document["gas"]["parallel"], document["gas"]["sequential"]):
        figures = [f"{spent[key]:,}" for key in ("archive", "live", "total", "per_model", "transactions")]
        assert figures in [row[1:] for row in page.rows]
    for paradigm in ("parallel", "sequential"):
        for stage, seconds in document["seconds"][paradigm].items():
            assert any(
                a["title"] == f"{stage}, {paradigm}: {seconds:.2f} s" for a in page.with_attribute("title")
            )
    assert f"{document['seconds']['total']:.1f} in all" in page.text
    curves = [
        [float(v) for v in (a["data-values"] or "").split()] for a in page.with_attribute("data-values")
    ]
    for model in document["models"]:
        assert [pytest.approx(v, abs=0.06) for v in model["learning_curve"]["accuracy"]] in curves
        assert [pytest.approx(v, rel=6e-3) for v in model["learning_curve"]["loss"]] in curves


def test_every_link_within_the_page_leads_somewhere(html: str) -> None:
    page = Page(html)
    places = {f"#{attributes['id']}" for attributes in page.with_attribute("id")}
    inside = {a["href"] for a in page.with_attribute("href") if (a["href"] or "").startswith("#")}
    assert inside <= places


def test_certificates_are_linked_beside_the_page(paper14: Report) -> None:
    paths = {Paradigm.PARALLEL: "parallel/certificates/erasure-1.json"}
    page = Page(render_html(paper14.model_copy(update={"certificates": paths})))
    links = [attributes["href"] for attributes in page.with_attribute("href")]
    assert links.count("parallel/certificates/erasure-1.html") == 2
    assert links.count("parallel/certificates/erasure-1.json") == 1


def test_a_paradigm_that_did_not_run_has_no_columns(paper14: Report) -> None:
    alone = one_paradigm(paper14, Paradigm.SEQUENTIAL)
    page = Page(render_html(alone))
    assert not any("parallel" in row for row in page.rows)
    assert {len(row) for row in page.rows if row[0] in {m.name for m in alone.models}} >= {11}
    assert not [a for a in page.with_attribute("class") if "parallel" in (a["class"] or "").split()]
    assert "par." not in printed(alone)


def test_a_client_request_is_headlined_by_membership(paper14: Report) -> None:
    asked = of_client(paper14)
    headline = summary.headline(asked)
    starts = [model for model in asked.models if model.start]
    before = sum(model.before.membership_auc or 0 for model in starts) / len(starts)
    assert headline.startswith(
        "Client 5 was unlearned from 7 models: mean membership AUC of the starts went from"
    )
    assert f" {before:.3f} to " in headline
    page = Page(render_html(asked))
    assert headline in page.text
    outside = measures.mean_outside(asked, measures.MEMBERSHIP)
    assert f"Dashed: {outside:.3f}, the mean of the models that the request does not reach." in page.text
    assert "membership AUC" in printed(asked)


def test_a_headline_says_what_failed_or_was_not_checked(paper14: Report) -> None:
    assert summary.headline(paper14).endswith("(sequential), and the record verifies.")
    failure = FailedCheck(subject="r8", check="opening", detail="does not open its hash")
    bad = report_of(paper_references(), ("r5", "r7"), failed=(failure,))
    assert summary.headline(bad).endswith(", but 1 of 42 verifications failed.")


def test_the_page_of_a_report_without_some_figures_leaves_them_out(paper14: Report, html: str) -> None:
    """As of private trainings."""
    bare = text_of(without_figures(paper14))
    for heading in ("How the models learned", "Class by class"):
        assert heading in Page(html).text
        assert heading not in bare


def test_every_kind_of_report_can_be_drawn() -> None:
    lone = report_of({"r1": ()}, ("r1",))
    long_names = report_of({"user-05-alice-0001": (), "b": ("user-05-alice-0001",)}, ("user-05-alice-0001",))
    unmeasured = lone.model_copy(
        update={"models": tuple(m.model_copy(update={"parallel": None}) for m in lone.models)}
    )
    for report in (lone, long_names, unmeasured):
        assert Page(render_html(report)).open == []


def test_a_name_cannot_bring_markup_into_the_page(html: str) -> None:
    evil = "\"'><script>alert(1)</script><img src=x>{{ 7 * 7 }}"
    page = Page(render_html(report_of({evil: (), "b": (evil,)}, (evil,))))
    assert page.open == []
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not page.with_attribute("src")
    assert evil in page.text
    assert {name for _, a in page.tags for name in a} <= {name for _, a in Page(html).tags for name in a}


def test_pages_of_the_same_figures_are_the_same(paper14: Report) -> None:
    again = report_of(paper_references(), ("r5", "r7"))
    assert render_html(again) == render_html(paper14)
    assert render_html(again.in_all(1)) != render_html(paper14)


def test_failures_and_wrong_counts_are_shown(paper14: Report) -> None:
    failure = FailedCheck(subject="r8", check="opening", detail="does not open its hash")
    wrong = OperationsCheck.of(counted=Operations(1, 1, 1, 1, 1), formula=Operations(2, 1, 1, 1, 1))
    bad = report_of(paper_references(), ("r5", "r7"), failed=(failure,)).model_copy(
        update={"operations": ByParadigm[OperationsCheck](parallel=wrong)}
    )
    text = text_of(bad)
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
    for model in measures.concerned(paper14):
        row = next(line for line in lines if re.match(rf" {model.name} +\d", line))
        assert f"{model.before.ad_f:.1f}" in row
        assert model.sequential is not None
        assert f"{model.sequential.ad_f:.1f}" in row
    assert not re.search(r"^ r14 ", table, re.MULTILINE)


def test_the_table_of_a_run_with_one_paradigm_or_none(paper14: Report) -> None:
    models = tuple(m.model_copy(update={"parallel": None, "sequential": None}) for m in paper14.models)
    trained = paper14.model_copy(update={"models": models, "operations": ByParadigm[OperationsCheck]()})
    assert "nothing was replaced" in " ".join(printed(trained).split())
    assert "nothing was replaced" in text_of(trained)


def test_the_table_leaves_out_what_another_command_did(paper14: Report) -> None:
    """The report of `unlearn` covers models that `train` published before."""
    nothing = Gas.spent(archive=0, live=0, models=14, transactions=0)
    later = paper14.model_copy(update={"gas": paper14.gas.model_copy(update={"publication": nothing})})
    assert "publish 179,345" in printed(paper14)
    assert "publish" not in printed(later)
    assert not re.search(r"\btrain\b", printed(later))


def test_means_count_a_model_left_alone_as_it_was(paper14: Report) -> None:
    left = next(model for model in paper14.models if model.below_epsilon)
    removed = paper14.model_copy(
        update={
            "models": tuple(
                m.model_copy(update={"parallel": None}) if m is left else m for m in paper14.models
            )
        }
    )
    for measure in (measures.AD_F, measures.AD_R):
        assert measures.mean_after(paper14, measure, Paradigm.PARALLEL) == pytest.approx(
            measures.mean_after(removed, measure, Paradigm.PARALLEL)
        )
    assert len(summary.updated(paper14, Paradigm.SEQUENTIAL)) == 7
    assert len(summary.updated(paper14, Paradigm.PARALLEL)) == 6


def test_the_page_says_which_increments_were_stored_and_what_the_request_took(paper14: Report) -> None:
    passes = SamplePasses(
        request=5376, longest_path=256, prepared=2960, stored=("r5", "r7"), made=("r6", "r8"),
        unusable={"r8": "r6 has changed since"},
    )  # fmt: skip
    report = paper14.model_copy(update={"passes": ByParadigm[SamplePasses](parallel=passes)})
    assert Report.from_bytes(report.to_bytes()).passes.parallel == passes
    text = text_of(report)
    for said in (
        "Computation of the request",
        "parallel 5,376 256 2,960",
        passes.said or "nothing",
        "r5 stored when the model was published",
        "r6 made for the request",
        "r8 made again, since the stored one is unusable: r6 has changed since",
    ):
        assert said in text
    assert "Clean trainings, sequential" not in text


def test_the_page_and_the_table_say_why_a_method_was_taken_and_warn_of_it(paper14: Report) -> None:
    used = paper14.method.parallel
    assert used is not None
    told = used.model_copy(update={"reason": "it is exact", "caveat": "it leaves traces"})
    report = paper14.model_copy(update={"method": paper14.method.model_copy(update={"parallel": told})})
    assert f"Parallel: {used.name}, it is exact." in text_of(report)
    assert f"Warning, parallel: {used.name}: it leaves traces." in text_of(report)
    assert f"parallel: {used.name}: it leaves traces" in " ".join(printed(report).split())
    assert "Warning, " not in text_of(paper14)
    assert "warning" not in printed(paper14)


def test_the_page_and_the_table_show_what_is_behind_the_output(paper14: Report) -> None:
    def ranked(figures: Any, auc: float) -> Any:
        return None if figures is None else figures.model_copy(update={"logit_auc": auc})

    models = tuple(
        model.model_copy(
            update={
                "before": ranked(model.before, 0.987),
                "parallel": ranked(model.parallel, 0.943),
                "sequential": ranked(model.sequential, 0.75),
            }
        )
        if model.affected
        else model
        for model in paper14.models
    )
    report = paper14.model_copy(update={"models": models})
    text = text_of(report)
    assert "AUC of the logit" in text and "0.987 0.943 0.750" in text
    told = "mean AUC of the logit went from 0.987 to 0.943"
    assert f"Behind the output, {told} (parallel) and mean AUC of the logit went from 0.987 to 0.750" in text
    assert f"behind parallel: {told}" in " ".join(printed(report).split())
    for without in (paper14, of_client(paper14)):
        assert "AUC of the logit" not in text_of(without) + printed(without)


def test_a_request_without_increments_says_what_it_took_alone(paper14: Report) -> None:
    passes = SamplePasses(request=2960, longest_path=2220, prepared=0)
    report = paper14.model_copy(update={"passes": ByParadigm[SamplePasses](parallel=passes)})
    text = text_of(report)
    assert "2,960 2,220 0" in text
    assert "increment" not in text.lower()


def test_what_training_spent_of_privacy_is_shown_at_the_model(paper14: Report) -> None:
    def of(epsilon: float) -> PrivacySection:
        return PrivacySection(epsilon=epsilon, delta=1e-5)

    models = tuple(
        model.model_copy(update={"privacy": of(i + 1.25) if i < 3 else None})
        for i, model in enumerate(paper14.models)
    )
    private = paper14.model_copy(update={"models": models})
    assert Report.from_bytes(private.to_bytes()) == private
    page = render_html(private)
    assert page.count("δ 1e-05") == 2 * 3  # in the table, and in the details of the model
    assert "ε 2.25, δ 1e-05" in page
    assert summary.privacy(private) == "ε 1.25 to 3.25, δ 1e-05 a training, in 3 of 14 models"
    assert summary.privacy(paper14) is None
    assert "ε 1.25 to 3.25" in printed(private)


def test_the_page_and_the_table_say_what_became_of_the_keys(html: str, paper14: Report) -> None:
    said = "The data keys of some versions were destroyed at 2 members."
    assert f"Erasure, parallel: {said}" in Page(html).text
    assert "Erasure, sequential" not in Page(html).text
    assert f"parallel: {said}" in " ".join(printed(paper14, 160).split())


def test_the_page_and_the_table_raise_an_alarm_at_a_model_that_knows_nothing(paper14: Report) -> None:
    first = paper14.models[4]
    assert first.parallel is not None and summary.alarm(paper14, Paradigm.PARALLEL) is None
    lost = first.model_copy(
        update={
            "parallel": first.parallel.model_copy(update={"ad_r": 11.2, "at_chance": True}),
            "left_out": (7,),
        }
    )
    models = tuple(lost if model.name == lost.name else model for model in paper14.models)
    damaged = paper14.model_copy(update={"models": models})
    said = f"{first.name} (AD_r 11.2 %) is no better than chance on what was to be kept"
    removed = f"AD_r leaves out the classes that earlier requests removed: 7 (in {first.name})."
    page, table = render_html(damaged), printed(damaged)
    assert f"Alarm, parallel: {said}." in page and f"parallel: {said}" in " ".join(table.split())
    assert removed in page and removed in " ".join(table.split())
    assert "Alarm" not in render_html(paper14)
    assert "alarm" not in printed(paper14)


def test_theorem_1_is_about_changes_that_are_passed(paper14: Report) -> None:
    assert "heorem 1" in text_of(paper14)
    depth = paper14.depth.model_copy(update={"delta_norm": None})
    text = text_of(paper14.model_copy(update={"depth": depth}))
    assert "heorem 1" not in text
    assert f"The longest path to a replaced model has {depth.observed} steps." in text
