# SPDX-License-Identifier: Apache-2.0
"""Copies are found among the models of a federation, and honest models are not taken for copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from benchmarks.derivations import hidden_from, noisy, permuted, pruned, quantised, rescaled
from benchmarks.descent_federations import Recipe, Run
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.fingerprint import KnownFingerprints, fingerprint
from blockful_py.learning.parents import NEAR, OTHERS, proposed_parents
from blockful_py.learning.weights import Weights, aggregate, equal

Copy = Callable[[Weights, Weights, torch.Generator], Weights]
COPIES: dict[str, Copy] = {
    "half the change as noise": partial(
        lambda w, origin, draws, size: noisy(w, origin, size, draws), size=0.5
    ),
    "noise in buckets of another key": lambda w, origin, draws: hidden_from(w, origin, 0.3, draws),
    "8 bits": lambda w, origin, draws: quantised(w, 8),
    "pruned": lambda w, origin, draws: pruned(w),
    "rescaled units": lambda w, origin, draws: rescaled(w, draws),
}
GETS_BY: dict[str, Copy] = {"permuted units": lambda w, origin, draws: permuted(w, draws)}
"""Documented in docs/explanation/descent.md: a detector that finds these deserves another test."""


@pytest.fixture(scope="module")
def run() -> Run:
    return Run(Recipe("paper14, all hold", "mlp", 20), 50)


def named(run: Run, model: TrainedModel, weights: Weights) -> str | None:
    """The undeclared parent that members see in weights published as this model."""
    found = run.found(model, weights)
    return None if found is None else found.name


def test_no_honest_model_comes_from_another(run: Run) -> None:
    assert [named(run, model, model.weights) for model in run.models] == [None] * len(run.models)
    assert sum(len(run.others(model)) for model in run.models) == 66


@pytest.mark.parametrize("kind", COPIES)
def test_nine_of_ten_copies_are_found_and_all_finds_name_their_model(run: Run, kind: str) -> None:
    found = []
    for model in run.models[OTHERS + 1 :]:
        for victim in run.others(model):
            copy = COPIES[kind](victim.weights, run.initial, run.draws)
            found.append((named(run, model, copy), victim.name))
    right = sum(name == victim for name, victim in found)
    assert right >= 0.9 * len(found)
    assert all(name in (None, victim) for name, victim in found)


def test_the_second_model_is_compared_with_the_first_for_little_noise_alone(run: Run) -> None:
    first, second = run.models[:2]
    found = [
        named(run, second, noisy(first.weights, run.initial, size, run.draws))
        for size in (NEAR / 3, 3 * NEAR)
    ]
    assert found == [first.name, None]


def test_the_mean_of_the_references_is_no_copy(run: Run) -> None:
    by_name = {model.name: model for model in run.models}
    model = run.models[-1]
    start = aggregate([by_name[each.name].weights for each in model.references])
    assert named(run, model, start) is None
    (reference, *_) = model.references
    assert named(run, model, noisy(by_name[reference.name].weights, run.initial, 0.1, run.draws)) is None


@pytest.mark.parametrize("kind", GETS_BY)
def test_these_copies_get_by(run: Run, kind: str) -> None:
    victim = run.others(run.models[-1])[0]
    copy = GETS_BY[kind](victim.weights, run.initial, run.draws)
    assert named(run, run.models[-1], copy) != victim.name


def test_derivations_leave_the_function_alone(run: Run) -> None:
    model, inputs = run.models[-1], run.test.x
    outputs = run.network.module(model.weights, inputs.device)(inputs)
    for made in (rescaled(model.weights, run.draws), permuted(model.weights, run.draws)):
        assert not equal(made, model.weights)
        found = run.network.module(made, inputs.device)(inputs)
        assert torch.allclose(found, outputs, atol=1e-3)


def test_parents_are_proposed_and_their_relatives_are_not() -> None:
    draws = torch.Generator().manual_seed(0)
    bases = [
        {"w": torch.randn(64, 64, generator=draws), "v": torch.randn(9, 64, generator=draws)}
        for _ in range(3)
    ]
    tuned = [{"w": w["w"] + 0.1 * torch.randn(64, 64, generator=draws), "v": w["v"]} for w in bases]
    known = {f"base {number}": fingerprint(each) for number, each in enumerate(bases)}
    known |= {f"tuned {number}": fingerprint(each) for number, each in enumerate(tuned)}
    library = KnownFingerprints(known)

    child = {"w": tuned[0]["w"] + 0.1 * torch.randn(64, 64, generator=draws), "v": torch.zeros(3, 64)}
    (parent,) = proposed_parents(fingerprint(child), library)
    assert parent.name == "tuned 0" and parent.share == pytest.approx(1, abs=0.1)

    merged = {name: (tuned[1][name] + tuned[2][name]) / 2 for name in ("w", "v")}
    found = proposed_parents(fingerprint(merged), library)
    assert {each.name for each in found} == {"tuned 1", "tuned 2"}
    assert all(each.share == pytest.approx(0.5, abs=0.05) for each in found)

    stranger = {"w": torch.randn(64, 64, generator=draws), "v": torch.randn(9, 64, generator=draws)}
    assert proposed_parents(fingerprint(stranger), library) == ()


def test_short_trainings_are_compared_for_little_noise_alone() -> None:
    short = Run(Recipe("paper14, few hold", "cnn", 3), 6)
    assert [named(short, model, model.weights) for model in short.models] == [None] * len(short.models)
    model = short.models[-1]
    victim = short.others(model)[0]
    found = [
        named(short, model, noisy(victim.weights, short.initial, size, short.draws)) for size in (0.01, 1.0)
    ]
    assert found == [victim.name, None]
