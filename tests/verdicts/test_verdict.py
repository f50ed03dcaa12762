# SPDX-License-Identifier: Apache-2.0
"""A method that is as far from gold as gold2 is has forgotten; each single trace is found out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blockful_py.errors import UnlearningError
from blockful_py.types import References
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.verdict import Verdict, judge, place
from tests.verdicts.made_up import row

GOLD = row("gold")
ORIGINAL = row("original", ad_f_train=1.0, ad_f_test=0.95, relearn=8, membership=0.9, divergence=0.5)
FLOOR = place(row("gold2", wobble=0.03), GOLD, ORIGINAL)


def judged(method: Row) -> Verdict:
    return judge(place(method, GOLD, ORIGINAL), FLOOR, classes=True)


def test_a_method_as_noisy_as_gold2_has_forgotten() -> None:
    verdict = judged(row("ours", wobble=-0.03))
    assert verdict.forgotten and verdict.intact
    assert verdict.reasons == ()
    assert str(verdict) == "forgotten"


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ({"ad_f_test": 0.02}, "worst ad_f"),
        ({"ad_f_train": 0.02}, "worst ad_f"),
        ({"membership": 0.35}, "membership"),
        ({"auc": 0.6}, "auc"),
        ({"divergence": 0.2}, "divergence"),
        ({"relearn": 9}, "relearn closed"),
    ],
    ids=str,
)
def test_a_single_trace_is_found(trace: dict[str, Any], reason: str) -> None:
    verdict = judged(row("trick", wobble=-0.03, **trace))
    assert not verdict.forgotten
    assert [found.split(" ")[0] for found in verdict.reasons] == [reason.split(" ")[0]]
    assert str(verdict).startswith("not forgotten")


def bits_of(given: Row, weights: str) -> Row:
    """The row with these weights in all models."""
    return replace(given, models=tuple(replace(each, weights=weights) for each in given.models))


def test_where_gold2_has_golds_bits_no_noise_excuses_others() -> None:
    """One model of eight is not enough for a ratio's interval, and every figure may be gold's."""
    gold, floor = (bits_of(row(name), "gold") for name in ("gold", "gold2"))
    one_off = (*gold.models[:-1], replace(gold.models[-1], weights="other"))
    same, other = (
        judge(place(Row("ours", models), gold, ORIGINAL), place(floor, gold, ORIGINAL), True)
        for models in (gold.models, one_off)
    )
    assert str(same) == "forgotten"
    assert str(other) == "not forgotten: models with other bits than gold's 1 > 0"
    assert str(replace(other, exact=True)) == "forgotten, exact given the graph"


def test_resampled_data_are_the_floor_of_damage_where_gold2_has_golds_bits() -> None:
    gold, floor = (bits_of(row(name), "gold") for name in ("gold", "gold2"))
    worse = place(row("ours", wobble=0.01), gold, ORIGINAL)
    placed, resampled = place(floor, gold, ORIGINAL), place(row("resampled", wobble=0.03), gold, ORIGINAL)
    assert not judge(worse, placed, True).intact
    assert judge(worse, placed, True, resampled).intact


def test_three_words_for_exact() -> None:
    """Another verdict would call a graph given that the owners chose again, or the other way round."""
    verdict = judged(row("ours", wobble=-0.03))
    kept, again = (replace(verdict, exact=True, references=each) for each in References)
    assert str(kept) == "forgotten, exact given the graph"
    assert str(again) == "forgotten, exact with the graph chosen again"
    assert "exact" not in str(replace(verdict, references=References.CHOSEN_AGAIN))


def test_damage_is_told_apart_from_not_forgetting() -> None:
    verdict = judged(row("bulldozer", wobble=-0.03, ad_r_test=0.7))
    assert verdict.forgotten and not verdict.intact
    assert str(verdict).startswith("forgotten, damaged: damage 0.2 > ")


def test_a_few_damaged_models_are_found_though_the_mean_is_good() -> None:
    def scattered(method: str, wobble: float) -> Row:
        return row(method, count=40, wobble=wobble)

    gold, original = scattered("gold", 0), row("original", count=40, relearn=8)
    floor = place(scattered("gold2", 0.03), gold, original)
    bad = list(scattered("ours", -0.03).models)
    ruined = row("ours", count=40, ad_r_test=0.5).models
    better = row("ours", count=40, ad_r_test=0.96).models
    bad = [*ruined[:4], *better[4:]]
    verdict = judge(place(Row("ours", tuple(bad)), gold, original), floor, True)
    assert [criterion.passed for criterion in verdict.keeping] == [True, False]


def test_relearning_counts_on_the_holders_alone() -> None:
    """When few hold the class, descendants never knew it and would hide the starts' remaining knowledge."""
    holders = [model.model in ("r1", "r2") for model in GOLD.models]

    def with_holders(given: Row, relearn: int) -> Row:
        models = tuple(
            type(model)(**{**_fields(model), "holder": holds, "relearn": relearn if holds else 20})
            for model, holds in zip(given.models, holders, strict=True)
        )
        return Row(given.method, models)

    gold, original = with_holders(GOLD, 20), with_holders(ORIGINAL, 8)
    floor = place(with_holders(row("gold2", wobble=0.03), 21), gold, original)
    masked = judge(place(with_holders(row("head_mask", wobble=-0.03), 8), gold, original), floor, True)
    assert [reason.split(" ")[0] for reason in masked.reasons] == ["relearn"]


def test_relearning_is_not_asked_where_gold_relearns_no_slower() -> None:
    original = row("original", wobble=0.03)
    floor = place(row("gold2", wobble=0.03), GOLD, original)
    verdict = judge(place(row("ours", wobble=-0.03), GOLD, original), floor, True)
    assert "relearn closed" not in {criterion.name for criterion in verdict.forgetting}


def test_rows_of_other_models_are_refused() -> None:
    with pytest.raises(UnlearningError, match="other models"):
        place(row("ours", count=3), GOLD, ORIGINAL)


def _fields(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in type(model).__slots__}
