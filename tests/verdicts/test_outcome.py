# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.errors import FormatError
from blockful_py.verdicts.draw import Draw
from blockful_py.verdicts.outcome import AuditOutcome, commitment_of
from tests.verdicts.made_up import row

OUTCOME = AuditOutcome(
    request="class 3",
    starts=("r1",),
    method="ours(alpha=0.4)",
    samples="1" * 64,
    seed=7,
    row=row("ours", wobble=-0.03, ad_f_test=1 / 3),
    references=(
        row("original", ad_f_test=1.0, relearn=8),
        row("gold"),
        row("gold2", wobble=0.03),
        row("head_mask", relearn=8),
    ),
)


def document() -> dict[str, Any]:
    return copy.deepcopy(OUTCOME.to_json())


def test_a_reader_gets_the_same_bytes() -> None:
    read = AuditOutcome.from_json(json.loads(OUTCOME.canonical()))
    assert read.canonical() == OUTCOME.canonical()
    assert read.digest() == OUTCOME.digest() == hashlib.sha256(OUTCOME.canonical()).digest()
    assert str(read.verdict()) == str(OUTCOME.verdict())


def test_the_document_states_a_verdict_on_the_method_and_none_on_single_models() -> None:
    verdict = document()["verdict"]
    assert verdict["forgotten"] is False
    assert verdict["intact"] is True
    assert verdict["reasons"] == ["worst ad_f 0.333 > 0.01"]
    assert sorted(verdict) == ["forgotten", "intact", "reasons"]


def test_bytes_are_canonical() -> None:
    data = OUTCOME.canonical()
    assert b" " not in data.replace(b"class 3", b"").split(b'"verdict"')[0]
    assert data == json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()
    assert b"0.333333," in data


def test_one_figure_more_or_less_changes_the_bytes() -> None:
    other = AuditOutcome.from_json(json.loads(OUTCOME.canonical()))
    assert other.canonical() == OUTCOME.canonical()
    changed = document()
    changed["row"]["models"][0]["membership"] += 0.001
    assert AuditOutcome.from_json(changed).canonical() != OUTCOME.canonical()
    assert AuditOutcome.from_json(changed).digest() != OUTCOME.digest()


def test_a_verdict_that_its_figures_do_not_bear_out_is_refused() -> None:
    forged = document()
    forged["verdict"]["forgotten"] = True
    with pytest.raises(FormatError, match="does not follow from its figures"):
        AuditOutcome.from_json(forged)
    forged = document()
    for model in forged["row"]["models"]:
        model["ad_f_test"] = 0.0
    with pytest.raises(FormatError, match="does not follow from its figures"):
        AuditOutcome.from_json(forged)


DRAW = Draw((("ours(alpha=0.4)", commitment_of(OUTCOME.row)), ("theirs", "2" * 64)), "ab" * 32)
DRAWN = replace(OUTCOME, draw=DRAW, seed=DRAW.seed)


def test_anybody_can_repeat_the_draw_of_a_document() -> None:
    read = AuditOutcome.from_json(json.loads(DRAWN.canonical()))
    assert read.draw == DRAW and read.canonical() == DRAWN.canonical() != OUTCOME.canonical()
    text = json.dumps({"beacon": DRAW.beacon, "committed": dict(DRAW.committed)}, separators=(",", ":"))
    assert DRAWN.seed == int(hashlib.sha256(text.encode()).hexdigest()[:13], 16)
    weights = sorted([model.model, model.weights] for model in DRAWN.row.models)
    text = json.dumps(weights, separators=(",", ":"))
    assert dict(DRAW.committed)[DRAWN.method] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        (lambda d: d.update(seed=7), "the seed 7 of this audit is not the drawn one"),
        (lambda d: d["draw"].update(beacon="cd" * 32), "is not the drawn one"),
        (lambda d: d["draw"]["committed"].update(theirs="3" * 64), "is not the drawn one"),
        (lambda d: d["row"]["models"][0].update(weights="4" * 64), "were not committed to"),
        (lambda d: d.update(method="theirs"), "the weights of 'theirs' in this audit were not committed to"),
        (lambda d: d["draw"].pop("committed"), "this audit is incomplete"),
        (lambda d: d.update(draw=[]), "this audit is incomplete"),
    ],
)
def test_a_draw_that_the_document_does_not_bear_out_is_refused(defect: Any, message: str) -> None:
    broken = copy.deepcopy(DRAWN.to_json())
    defect(broken)
    with pytest.raises(FormatError, match=message):
        AuditOutcome.from_json(broken)


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        (lambda d: d.update(format="blockful-audit/2"), "judges by other rules; audit the models again"),
        (lambda d: d.pop("row"), "this audit is incomplete"),
        (lambda d: d["references"].pop(2), "no reference row 'gold2'"),
        (lambda d: d["row"]["models"][0].pop("auc"), "auc"),
        (lambda d: d["row"]["models"][0].update(opinion=1.0), "opinion"),
        (lambda d: d["row"].update(models=5), "must be a list"),
    ],
)
def test_a_broken_document_is_refused(defect: Any, message: str) -> None:
    broken = document()
    defect(broken)
    with pytest.raises(FormatError, match=message):
        AuditOutcome.from_json(broken)
