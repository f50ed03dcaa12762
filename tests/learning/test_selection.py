# SPDX-License-Identifier: Apache-2.0
"""Eq. 1 as of a model's publication: the same candidates, and what a choice can tell."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from blockful_py.errors import LearningError
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.models import Architecture
from blockful_py.learning.selection import Selection
from blockful_py.settings import FederationSettings

SCENARIO = FederationSettings("organic", users=6, rounds=2, candidates=4, references=2, candidate_window=8)
SPEC = FederationSpec(Architecture("cnn", (1, 8, 8), 10), SCENARIO, starting_users=(2,))
NAMES = SCENARIO.names


def test_only_eq_1_can_choose_again() -> None:
    assert Selection.of(SPEC) == Selection(SPEC)
    assert Selection.of(replace(SPEC, scenario=FederationSettings())) is None


def test_candidates_are_of_earlier_waves_and_other_users() -> None:
    selection = Selection(SPEC)
    waves = selection.waves(NAMES)
    assert sum(waves, ()) == NAMES
    before: set[str] = set()
    for wave in waves:
        for name in wave:
            candidates = selection.candidates(name, NAMES)
            assert set(candidates) <= before and len({*candidates}) == len(candidates)
            assert len(candidates) <= SCENARIO.candidates + selection.forced(name)
        before.update(wave)


def test_the_draw_leaves_out_models_that_are_not_there() -> None:
    selection = Selection(SPEC)
    there = [name for name in NAMES if name != "r3"]
    assert not any("r3" in selection.candidates(name, there) for name in there)


def test_a_choice_of_2_in_4_tells_log2_6_bits_and_a_root_nothing() -> None:
    selection = Selection(replace(SPEC, starting_users=()))
    assert selection.bits("r12", NAMES) == math.log2(6)
    assert selection.bits("r1", NAMES) == 0


def test_a_model_outside_the_plan_keeps_its_references() -> None:
    with pytest.raises(LearningError, match="'adopted' is no model of this federation's plan"):
        Selection(SPEC).candidates("adopted", NAMES)
