# SPDX-License-Identifier: Apache-2.0
"""The answer to a person: its words, and names that are no markup."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from blockful_py.report.certificate import PlainPart
from blockful_py.report.runs.answer_page import (
    AnsweredCase,
    AnsweredModel,
    PersonAnswer,
    _asked,
    write_answer,
)

DAY = date(2026, 11, 27)
CASE = AnsweredCase(3, '"north"', "0x" + "ab" * 20, DAY, DAY, DAY, 2, 0, 7, 2, 0, False)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "named them in request 7"),
        ({"together": 9}, "named them together with those of others in request 7"),
        ({"rows": 3, "earlier": 1, "together": 2}, "An earlier request had named 1 of them already."),
        ({"tested": 1, "handed_out": True}, 'Attention: "north" had made 1 record more of yours public'),
        ({"tested": 2}, '"north" used 2 records more of yours to test its models, not to train any.'),
        ({"answered": date(2026, 11, 28)}, "answers on 2026-11-28, which is later than it should have"),
        ({"answered": DAY}, "answers on 2026-11-27."),
    ],
)
def test_a_case_is_told_in_plain_words(changes: dict[str, object], said: str) -> None:
    assert said in " ".join(_asked(replace(CASE, **changes)))  # type: ignore[arg-type]


def test_a_name_is_no_markup(tmp_path: Path) -> None:
    case = replace(CASE, owner="<script>alert(1)</script>")
    answer = PersonAnswer(
        case=case,
        decided="2026-11-27 12:00:00 UTC",
        kind="Exact <b>",
        warnings=("<i>",),
        models=(AnsweredModel("r1", "withdrawn", 1, "no weights are left to check"),),
        parts=(PlainPart("What did you ask?", tuple(_asked(case))),),
        certificate="0x" + "cd" * 32,
        file="erasure-1.json",
        verify="blockful certificate verify erasure-1.json",
        development=None,
    )
    page, document = write_answer(answer, tmp_path / "answers")
    text = page.read_text(encoding="utf-8")
    assert not any(tag in text for tag in ("<script", "<b>", "<i>", "development"))
    assert "&lt;script&gt;" in text and "0x" + "cd" * 32 in text
    read = json.loads(document.read_bytes())
    assert (read["format"], read["case"]["received"]) == ("blockful-answer/1", "2026-11-27")
