# SPDX-License-Identifier: Apache-2.0
"""Which method is chosen where none is named, and what is said of those that are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.forget import Level
from blockful_py.types import Paradigm
from blockful_py.unlearning.choosing import EXACT, Situation, advise, choose

CLASS = Situation(
    level=Level.CLASS,
    paradigm=Paradigm.PARALLEL,
    taught_outside=True,
    machines=False,
    remote=False,
    private=False,
    attested=False,
    clean_models=False,
    line_sees=1.5,
)
CLIENT = replace(CLASS, level=Level.CLIENT, taught_outside=False, line_sees=0.0)
SEQUENTIAL = Paradigm.SEQUENTIAL


@pytest.mark.parametrize(
    ("situation", "method"),
    [
        (CLASS, "clean_line"),
        (replace(CLASS, paradigm=SEQUENTIAL), "clean_line"),
        (replace(CLASS, clean_models=True), "retrain_ahead"),
        (replace(CLASS, line_sees=0.75), "retrain_ahead"),
        (replace(CLASS, private=True), "gradient_ascent"),
        (replace(CLASS, private=True, paradigm=SEQUENTIAL), "retrain"),
        (replace(CLASS, machines=True, taught_outside=None), "gradient_ascent"),
        (replace(CLASS, machines=True, taught_outside=None, paradigm=SEQUENTIAL), "retrain"),
        (CLIENT, "gradient_ascent"),
        (replace(CLIENT, attested=True), "clean_increments"),
        (replace(CLIENT, attested=True, level=Level.SAMPLE, paradigm=SEQUENTIAL), "clean_increments"),
        (replace(CLIENT, attested=True, remote=True), "retrain_ahead"),
    ],
)
def test_the_choice(situation: Situation, method: str) -> None:
    assert choose(situation).method == method
    assert advise(method, situation).reason == choose(situation).reason


def test_another_method_has_no_reason() -> None:
    assert advise("retrain", CLASS).reason is None


@pytest.mark.parametrize("method", ["retrain", "gradient_ascent", "clean_increments", "fine_tune"])
def test_ancestors_that_teach_it_again_are_named(method: str) -> None:
    assert "teach it again" in str(advise(method, CLASS).caveat)
    assert "teach it again" in str(advise(method, replace(CLASS, taught_outside=None)).caveat)


@pytest.mark.parametrize("method", sorted(EXACT))
def test_exact_methods_have_no_caveat(method: str) -> None:
    assert advise(method, CLASS).caveat is None


def test_where_the_request_reaches_all_who_were_taught_it() -> None:
    situation = replace(CLASS, taught_outside=False)
    assert advise("retrain", situation).caveat is None
    assert "traces" in str(advise("scrub", situation).caveat)


def test_increments_reach_all_models_of_a_client() -> None:
    assert advise("clean_increments", replace(CLIENT, taught_outside=True)).caveat is None
    assert advise("retrain", replace(CLIENT, taught_outside=True)).caveat is not None
