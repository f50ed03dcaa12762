# SPDX-License-Identifier: Apache-2.0
"""The choice of a method for requests without one, and messages about named methods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.forget import LEVELS, Level
from blockful_py.types import Paradigm, References
from blockful_py.unlearning.choosing import Advice, Circumstances, advise, choose

CLASS = Circumstances(
    level=Level.CLASS,
    paradigm=Paradigm.PARALLEL,
    taught_outside=True,
    past_graph=False,
    private=False,
    attested=False,
)
CLIENT = replace(CLASS, level=Level.CLIENT, taught_outside=False)
SEQUENTIAL = Paradigm.SEQUENTIAL


@pytest.mark.parametrize(
    ("situation", "method"),
    [
        (CLASS, "retrain_ahead"),
        (replace(CLASS, paradigm=SEQUENTIAL), "retrain_ahead"),
        (replace(CLASS, private=True), "gradient_ascent"),
        (replace(CLASS, private=True, paradigm=SEQUENTIAL), "retrain"),
        (replace(CLASS, taught_outside=None), "retrain_ahead"),
        (CLIENT, "gradient_ascent"),
        (replace(CLIENT, paradigm=SEQUENTIAL), "retrain"),
        (replace(CLIENT, attested=True), "retrain_ahead"),
        (replace(CLIENT, attested=True, level=Level.SAMPLE, paradigm=SEQUENTIAL), "retrain_ahead"),
        *(
            (replace(CLASS, level=level, sums=True, paradigm=each), "subtract")
            for level in LEVELS
            for each in Paradigm
        ),
    ],
)
def test_the_choice(situation: Circumstances, method: str) -> None:
    assert choose(situation).method == method
    assert advise(method, situation).reason == choose(situation).reason


def test_the_reason_follows_the_references() -> None:
    again = replace(CLASS, references=References.CHOSEN_AGAIN)
    assert str(advise("retrain_ahead", CLASS).reason).startswith("exact given the graph: no weights")
    assert str(advise("retrain_ahead", again).reason).startswith("exact with the graph chosen again: ")
    assert "exact" not in str(advise("retrain_ahead", replace(again, past_graph=True)).reason)


def test_a_subtraction_has_no_caveat() -> None:
    for level in LEVELS:
        advice = advise("subtract", replace(CLASS, level=level, sums=True))
        assert "exact given the graph" in str(advice.reason)
        assert advice.caveat is None
    leaves = replace(CLASS, level=Level.CLIENT, sums=True, machines=True, emptied=("r1",))
    loss = str(advise("subtract", leaves).loss)
    assert "r1 was trained on this data alone, and is left without sums" in loss


def test_features_that_were_learnt_limit_exactness() -> None:
    advice = advise("subtract", replace(CLASS, sums=True, frozen=True))
    assert "exactly only if that network never saw the data" in str(advice.caveat)
    assert advise("subtract", replace(CLASS, sums=True)).caveat is None


def test_another_method_has_no_reason() -> None:
    assert advise("retrain", CLASS).reason is None


@pytest.mark.parametrize("method", ["retrain", "gradient_ascent", "clean_increments", "fine_tune"])
def test_ancestors_that_teach_it_again_are_named(method: str) -> None:
    assert "teach it again" in str(advise(method, CLASS).caveat)
    assert "teach it again" in str(advise(method, replace(CLASS, taught_outside=None)).caveat)
    assert advise(method, CLASS).more_starts, "a request that starts at the ancestors reaches them"


def test_retraining_all_that_was_reached_has_no_caveat() -> None:
    assert advise("retrain_ahead", CLASS).caveat is None


def test_a_line_takes_data_past_the_graph() -> None:
    for now in (CLASS, replace(CLASS, level=Level.CLIENT), replace(CLASS, level=Level.SAMPLE)):
        assert "forgets exactly, but takes the data of all owners past the graph" in str(
            advise("clean_line", now).caveat
        )


@pytest.mark.parametrize("method", ["retrain_ahead", "retrain"])
def test_ancestors_made_by_a_line_are_named_and_nothing_is_called_exact(method: str) -> None:
    now = replace(CLIENT, attested=True, past_graph=True)
    assert choose(now).method == "retrain_ahead"
    assert "exact" not in choose(now).reason
    assert "past the graph" in str(advise(method, now).caveat)


def test_nothing_is_said_of_a_method_of_ones_own() -> None:
    assert advise("mine:Method", CLASS) == Advice()


def test_where_the_request_reaches_all_who_were_taught_it() -> None:
    now = replace(CLASS, taught_outside=False)
    assert advise("retrain", now).caveat is None
    assert "not exact" in str(advise("gradient_ascent", now).caveat)
    assert not advise("gradient_ascent", now).more_starts
    assert not advise("clean_line", CLASS).more_starts


def test_increments_reach_all_models_of_a_client() -> None:
    now = replace(CLIENT, taught_outside=True)
    assert "not exact" in str(advise("clean_increments", now).caveat)
    assert "teach it again" in str(advise("retrain", now).caveat)


def test_a_client_who_leaves_a_root_with_initial_weights_is_offered_its_withdrawal() -> None:
    emptied = replace(CLIENT, emptied=("r1",), withdraws=True)
    said = str(advise("gradient_ascent", emptied).loss)
    assert said.startswith("r1 was trained on this data alone, and is left with initial weights")
    assert said.endswith("retrain_ahead withdraws it")
    assert "Build no" in str(advise("gradient_ascent", replace(emptied, withdraws=False)).loss)
    assert advise("gradient_ascent", CLIENT).loss is None
    for method in ("retrain", "retrain_ahead"):
        assert advise(method, emptied).loss == "r1 was trained on this data alone, and is withdrawn"


def test_an_owner_hears_that_its_root_becomes_untrained() -> None:
    sample = replace(CLIENT, level=Level.SAMPLE, machines=True, unshown=("r1",))
    for method in ("retrain", "retrain_ahead"):
        assert str(advise(method, sample).loss).startswith("r1 has no references, and its owner lets nobody")
    assert advise("gradient_ascent", sample).loss is None
    assert advise("retrain", replace(sample, attested=True)).loss is None


def test_clients_and_samples_are_forgotten_exactly_among_machines() -> None:
    for level in (Level.CLIENT, Level.SAMPLE):
        asked = Circumstances(level, Paradigm.SEQUENTIAL, False, False, False, False, machines=True)
        assert choose(asked).method == "retrain" and choose(asked).reason.startswith("exact given the graph")
        assert advise("retrain", asked).caveat is None
        assert choose(replace(asked, paradigm=Paradigm.PARALLEL)).method == "retrain_ahead"
        assert "compute themselves" in choose(replace(asked, machines=False)).reason
