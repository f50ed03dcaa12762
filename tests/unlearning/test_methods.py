# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest

from blockful_py.errors import SettingsError
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.data import pooled
from blockful_py.learning.weights import Weights, equal, flatten
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit import ModelAccuracy, audit_accuracy
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.method import Method, Need, Outcome
from blockful_py.unlearning.propagation import delta, propagate
from blockful_py.unlearning.recompute import is_recomputable, recompute
from blockful_py.unlearning.registry import METHODS, create_method
from blockful_py.unlearning.retrain import Retrain
from tests.unlearning.conftest import UnlearningCase


@pytest.fixture(scope="module")
def retrained(few: UnlearningCase) -> Outcome:
    return Retrain().unlearn(few.task)


@pytest.fixture(scope="module")
def passed(few: UnlearningCase) -> Outcome:
    return GradientAscent().unlearn(few.task)


def audited(case: UnlearningCase, weights: dict[str, Weights]) -> dict[str, ModelAccuracy]:
    train = pooled(user.train for user in case.task.users.values())
    return audit_accuracy(case.task.architecture, weights, train, case.dataset.test, case.task.classes)


def test_before_a_request_the_starts_know_the_class_and_most_models_are_good(few: UnlearningCase) -> None:
    before = audited(few, few.task.weights(few.task.models))
    assert all(before[start].test.ad_f > 0.8 for start in few.task.starts)
    affected = [before[name].test.ad_r for name in few.task.affected()]
    assert sum(accuracy > 0.9 for accuracy in affected) > len(affected) / 2


def test_retraining_forgets_where_few_hold_and_keeps_the_rest(
    few: UnlearningCase, retrained: Outcome
) -> None:
    after = audited(few, dict(retrained.weights))
    assert all(row.train.ad_f == row.test.ad_f == 0 for row in after.values())
    before = audited(few, few.task.weights(few.task.affected()))
    assert mean(row.test.ad_r for row in after.values()) > 0.9
    loss = [before[name].test.ad_r - after[name].test.ad_r for name in after]
    assert mean(loss) < 0.02


def test_every_affected_model_changes_and_no_other(
    few: UnlearningCase, retrained: Outcome, passed: Outcome
) -> None:
    for outcome in (retrained, passed):
        assert tuple(outcome.weights) == few.task.affected()
        assert outcome.skipped == {}
        assert outcome.depth_observed == 4
        for name, weights in outcome.weights.items():
            assert not equal(weights, few.task.models[name].weights)


def test_steps_are_the_outcome_model_by_model(
    few: UnlearningCase, retrained: Outcome, passed: Outcome
) -> None:
    for method, outcome in ((Retrain(), retrained), (GradientAscent(), passed)):
        steps = {step.name: step.weights for step in method.steps(few.task)}
        assert tuple(steps) == tuple(outcome.weights)
        assert all(equal(steps[name], outcome.weights[name]) for name in steps)


def test_the_same_seed_gives_the_same_bits_and_another_does_not(few: UnlearningCase, passed: Outcome) -> None:
    again = GradientAscent().unlearn(few.task)
    assert all(equal(again.weights[name], passed.weights[name]) for name in passed.weights)
    other = GradientAscent().unlearn(replace(few.task, seed=1))
    assert not equal(other.weights["r5"], passed.weights["r5"])


def test_both_methods_retrain_the_starts_alike(retrained: Outcome, passed: Outcome) -> None:
    assert all(equal(retrained.weights[start], passed.weights[start]) for start in ("r5", "r7"))


def test_passing_adds_the_starts_changes_by_path_weight(few: UnlearningCase, passed: Outcome) -> None:
    deltas = {s: delta(few.task.models[s].weights, passed.weights[s]) for s in few.task.starts}
    paths = path_weights(few.task.graph, few.task.starts)
    for name in paths.descendants:
        expected = flatten(few.task.models[name].weights) + sum(
            weight * flatten(deltas[start])
            for weight, start in zip(paths.row(name), paths.starts, strict=True)
        )
        assert flatten(passed.weights[name]) == pytest.approx(expected, abs=1e-6)


def test_a_member_recomputes_the_same_bits(few: UnlearningCase) -> None:
    outcome = GradientAscent(alpha=0.7, epsilon=0.5).unlearn(few.task)
    old = few.task.weights(few.task.models)
    deltas = {start: delta(old[start], outcome.weights[start]) for start in few.task.starts}
    found = propagate(old, path_weights(few.task.graph, few.task.starts), deltas, 0.7, 0.5)
    assert found.skipped == outcome.skipped
    assert set(found.weights) == set(outcome.weights) - set(few.task.starts)
    assert all(equal(found.weights[name], outcome.weights[name]) for name in found.weights)


def test_a_recomputation_needs_the_starts_alone(few: UnlearningCase) -> None:
    method = GradientAscent(alpha=0.7, epsilon=0.5)
    outcome = method.unlearn(few.task)
    old = few.task.weights(few.task.affected())
    announced = {start: outcome.weights[start] for start in few.task.starts}
    found = recompute(method, few.task.graph, few.task.starts, old, announced)
    assert found.keys() == outcome.weights.keys()
    assert all(equal(found[name], outcome.weights[name]) for name in found)


def test_retraining_cannot_be_recomputed_without_data(few: UnlearningCase) -> None:
    assert is_recomputable(GradientAscent(), Paradigm.PARALLEL)
    assert not is_recomputable(GradientAscent(), Paradigm.SEQUENTIAL)
    assert not is_recomputable(Retrain(), Paradigm.SEQUENTIAL)
    with pytest.raises(ValueError, match="retrain cannot be recomputed"):
        recompute(Retrain(), few.task.graph, few.task.starts, {}, {})


def test_short_updates_are_left_out_and_reported(few: UnlearningCase, passed: Outcome) -> None:
    norms = {
        name: float(((flatten(passed.weights[name]) - flatten(model.weights)) ** 2).sum() ** 0.5)
        for name, model in few.task.models.items()
        if name in passed.weights and name not in few.task.starts
    }
    epsilon = sorted(norms.values())[3] * 1.001
    cut = GradientAscent(epsilon=epsilon).unlearn(few.task)
    assert set(cut.skipped) == {name for name, norm in norms.items() if norm <= epsilon}
    assert set(cut.weights).isdisjoint(cut.skipped)
    assert all(norm <= epsilon for norm in cut.skipped.values())
    assert cut.depth_bound is not None
    assert passed.depth_bound is None


def test_an_epsilon_above_everything_leaves_the_starts_only(few: UnlearningCase) -> None:
    outcome = GradientAscent(epsilon=1e6).unlearn(few.task)
    assert set(outcome.weights) == set(few.task.starts)
    assert outcome.depth_observed == 0
    assert outcome.depth_bound == 1


def test_a_start_below_another_carries_its_total_change(everyone: UnlearningCase) -> None:
    """r19's references inherit from r5, so they are brought up to date before r19 trains again."""
    assert "r19" in everyone.task.graph.descendants(["r5"])
    task = replace(everyone.task, starts=("r5", "r19"))
    alone = replace(everyone.task, starts=("r19",))
    both, single = GradientAscent().unlearn(task), GradientAscent().unlearn(alone)
    assert not equal(both.weights["r19"], single.weights["r19"])
    assert equal(both.weights["r5"], GradientAscent().unlearn(replace(task, starts=("r5",))).weights["r5"])


def test_where_everyone_holds_the_class_passing_forgets_less_than_retraining(
    everyone: UnlearningCase,
) -> None:
    names = everyone.task.graph.descendants(everyone.task.starts)
    before = audited(everyone, everyone.task.weights(names))
    after = {
        method: audited(everyone, dict(create_method(method).unlearn(everyone.task).weights))
        for method in ("retrain", "gradient_ascent")
    }
    ad_f = {method: mean(rows[name].test.ad_f for name in names) for method, rows in after.items()}
    assert ad_f["retrain"] < ad_f["gradient_ascent"] < mean(before[name].test.ad_f for name in names)


def test_methods_say_what_they_need_and_support() -> None:
    retrain, ascent = create_method("retrain"), create_method("gradient_ascent", alpha=0.5)
    assert retrain.paradigms == {Paradigm.SEQUENTIAL}
    assert Paradigm.PARALLEL in ascent.paradigms
    assert ascent.needs == {Need.START_DATA}
    assert Need.DESCENDANT_DATA in retrain.needs
    for name in METHODS:
        method: Method = create_method(name)
        assert method.name == name


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("amnesia", {}, "Known: .*distill, .*, ssd"),
        ("retrain", {"alpha": 1.0}, "no such settings: alpha"),
        ("gradient_ascent", {"alpha": 0.0}, "alpha must be positive"),
        ("gradient_ascent", {"alpha": float("nan")}, "alpha must be positive"),
        ("gradient_ascent", {"epsilon": -1.0}, "epsilon must be at least 0"),
        ("gradient_ascent", {"start": "sideways"}, "start must be retrained or ascended"),
        ("gradient_ascent", {"ascent_steps": 0}, "ascent_steps must be at least 1"),
        ("distill", {"temperature": 0.0}, "temperature must be positive"),
        ("fine_tune", {"layers": 0}, "layers must be at least 1"),
        ("fine_tune", {"rate": float("inf")}, "rate and clip must be positive"),
        ("fiun", {"layers": "some"}, "layers must be head or all"),
        ("ssd", {"selection": 0.0}, "selection and dampening must be positive"),
        ("salun", {"share": 0.0}, r"share must be in \(0, 1\]"),
        ("scrub", {"max_epochs": 9}, "max_epochs must be from 0 to epochs"),
    ],
)
def test_methods_and_settings_must_exist(name: str, settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        create_method(name, **settings)
