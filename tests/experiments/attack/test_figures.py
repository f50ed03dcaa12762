# SPDX-License-Identifier: Apache-2.0
"""Figures of attacks on made-up margins, and the text about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockful_lab.experiments.attack.figures import Attacked, Attacks, figures_of
from blockful_lab.experiments.attack.plan import AttackPlan
from blockful_lab.experiments.attack.shadows import ALL, VIEWS
from blockful_lab.experiments.attack.targets import Ask
from blockful_lab.experiments.attack.writing import rewrite_report, write_report
from blockful_lab.experiments.protocol import Scale
from blockful_py.errors import FormatError, RunError
from blockful_py.unlearning.audit import disclosed_bits
from tests.experiments.attack.made_up import EXAMPLES, SCENARIO, row, rows

SHADOWS = 24
FEW, NAMES = 4, ("original", "gold", "gold2")
"""Federations and methods where the figures need not tell these apart."""


@pytest.fixture(scope="module")
def attacks() -> Attacks:
    return figures_of(SCENARIO, rows(SHADOWS))


@pytest.fixture
def plan(tmp_path: Path) -> AttackPlan:
    return AttackPlan(("digits",), ("all_hold",), (Ask.CLASS,), (5,), (), tmp_path, SHADOWS, Scale.SMALL)


def of(attacks: Attacks, target: str) -> dict[str, Attacked]:
    (view,) = [each for each in attacks.views if (each.target, each.view) == (target, ALL)]
    return {each.method: each for each in view.methods}


def test_every_target_is_seen_through_every_view(attacks: Attacks) -> None:
    assert [(each.target, each.view) for each in attacks.views] == [
        (target, view) for target in ("forgotten", "retained") for view in VIEWS
    ]
    assert {each.examples for each in attacks.views} == {EXAMPLES}
    assert (attacks.shadows, attacks.affected) == (SHADOWS, (7, 8))
    assert [each.method for each in attacks.views[0].methods] == [
        "original",
        "gold2",
        "head_mask",
        "retrain_ahead",
    ]


def test_a_model_that_kept_the_samples_is_found_out_by_every_figure(attacks: Attacks) -> None:
    kept = of(attacks, "forgotten")["original"]
    assert kept.attack.auc.low > 0.99 and kept.attack.tpr.low > 0.9
    assert kept.attack.epsilon.low > 0
    assert kept.klom_above.low > 0
    assert kept.recognised.value > 0.99
    assert kept.recognised_above.low > 0.7
    assert kept.near_above is not None and kept.near_above.low > 0.7
    assert kept.membership_above.low > 0.4


def test_a_model_that_never_knew_passes(attacks: Attacks) -> None:
    for name in ("gold2", "retrain_ahead"):
        never = of(attacks, "forgotten")[name]
        assert never.attack.auc.low < 0.55
        assert never.attack.epsilon.low == 0
        assert never.klom_above.low <= 0 <= never.klom_above.high
        assert never.near_above is not None and never.near_above.low < 0 < never.near_above.high
        assert never.membership_above.low < 0 < never.membership_above.high


def test_a_spread_is_found_by_the_attack_where_no_mean_shows_it(attacks: Attacks) -> None:
    masked = of(attacks, "forgotten")["head_mask"]
    assert masked.attack.auc.low > 0.7
    assert masked.membership_above.low < 0 < masked.membership_above.high


def test_retained_samples_have_no_perturbed_ones(attacks: Attacks) -> None:
    kept = of(attacks, "retained")
    assert {each.near_above for each in kept.values()} == {None}
    assert max(each.attack.epsilon.low for each in kept.values()) == 0


def test_federations_count_that_have_every_row() -> None:
    more = [*rows(FEW, NAMES), row("gold", FEW), row("original", FEW)]
    assert figures_of(SCENARIO, more) == figures_of(SCENARIO, rows(FEW, NAMES))


def test_a_missing_reference_is_named() -> None:
    with pytest.raises(RunError, match="has no row gold2"):
        figures_of(SCENARIO, rows(4, ("original", "gold")))


def test_what_is_written_can_be_rendered_again(plan: AttackPlan) -> None:
    report = write_report(plan, rows(FEW, NAMES))
    written = {name: (plan.folder / name).read_bytes() for name in report.files}
    assert written["attack.png"].startswith(b"\x89PNG")
    lines = report.markdown.splitlines()
    assert "## digits, all hold, class, seed 5" in lines
    assert lines.count("### forgotten: all affected") == 1
    again = rewrite_report(plan.folder)
    assert {name: (plan.folder / name).read_bytes() for name in again.files} == {
        name: written[name] for name in again.files
    }
    told = json.loads(written["attack.json"])
    told["scenarios"][0]["views"][0]["methods"][0]["attack"]["auc"]["value"] = 0.25
    (plan.folder / "attack.json").write_text(json.dumps(told))
    assert rewrite_report(plan.folder).markdown != report.markdown


def keys(document: Any) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {key for value in document.values() for key in keys(value)}
    return {key for value in document for key in keys(value)} if isinstance(document, list) else set()


def test_no_single_sample_is_published_and_the_rest_is_counted(plan: AttackPlan) -> None:
    document = write_report(plan, rows(FEW, NAMES)).document
    assert "worst" in keys(document) and "worst_example" not in keys(document)
    assert document["disclosed_bits"] == disclosed_bits(document["scenarios"])


def test_nothing_to_write_and_a_damaged_document_are_named(plan: AttackPlan) -> None:
    with pytest.raises(RunError, match="measure them first"):
        write_report(plan, ())
    with pytest.raises(RunError, match="measure them first"):
        rewrite_report(plan.folder)
    (plan.folder / "attack.json").write_text('{"scenarios": [{}]}')
    with pytest.raises(FormatError, match=r"attack\.json is no document of an attack"):
        rewrite_report(plan.folder)


def test_rows_of_another_number_of_federations_are_another_command(plan: AttackPlan) -> None:
    assert replace(plan, shadows=32).command != plan.command
