# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.learning.data import pooled
from blockful_py.learning.stacked import LARGEST_STACK
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit import Bench, relearn
from blockful_py.unlearning.audit.canonical import peaks
from blockful_py.unlearning.head import neutralised

CPU = torch.device("cpu")


def lesson(bench: Bench, steps: int) -> relearn.Lesson:
    batches = relearn.lesson_batches(
        bench.samples.forget_train, bench.samples.retain_train, steps, generator(1, "lesson")
    )
    asked = bench.samples.forget_test
    scales = peaks(bench.task.architecture, bench.gold["r5"], pooled(batches))
    return relearn.Lesson(batches, asked, relearn.wrong_share(asked), scales)


def steps(bench: Bench, weights: Weights) -> float:
    return learnt(bench, {"one": weights}, lesson(bench, 40))["one"]


def learnt(bench: Bench, models: dict[str, Weights], taught: relearn.Lesson) -> dict[str, float]:
    lessons = dict.fromkeys(models, taught)
    return relearn.relearn_steps(bench.task.architecture, models, lessons, bench.samples.classes, CPU)


def test_what_was_never_forgotten_comes_back_sooner_than_what_was_never_known(bench: Bench) -> None:
    known = steps(bench, bench.task.models["r5"].weights)
    never = steps(bench, bench.gold["r5"])
    assert 0 < known < never < 40


def test_a_masked_head_is_taken_away_first(bench: Bench) -> None:
    weights = bench.task.models["r5"].weights
    masked = neutralised(bench.task.architecture, weights, bench.samples.classes)
    assert steps(bench, masked) == steps(bench, weights)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_how_fast_a_model_learns_is_no_choice_of_its_owner(bench: Bench, factor: float) -> None:
    weights = bench.task.models["r5"].weights
    other = rescaled(weights, factor)
    module, changed = (bench.task.architecture.module(each, CPU).eval() for each in (weights, other))
    x = bench.samples.forget_test.x
    assert torch.allclose(module(x), changed(x), atol=1e-4)
    # Rounding turns single samples a step earlier or later.
    assert steps(bench, other) == pytest.approx(steps(bench, weights), abs=0.5)


def rescaled(weights: Weights, factor: float) -> Weights:
    """The same function: the hidden layers divided by the factor, the head multiplied to make up for it."""
    scale = dict(zip(("conv1", "conv2", "dense"), (1 / factor, factor**-2, factor**-3), strict=True))
    return {
        name: tensor * factor**3 if name == "head.weight" else tensor / factor if name.endswith("weight")
        else tensor * scale.get(name.split(".")[0], 1.0)
        for name, tensor in weights.items()
    }  # fmt: skip


@pytest.mark.parametrize(("left", "total"), [(1.0, 3), (0.0, 0)])
def test_what_is_never_learnt_takes_all_steps_and_what_is_known_none(
    bench: Bench, left: float, total: float
) -> None:
    taught = replace(lesson(bench, 3), left=lambda logits: left)
    assert learnt(bench, {"r5": bench.gold["r5"]}, taught) == {"r5": total}


@pytest.fixture(scope="module")
def models(bench: Bench) -> dict[str, Weights]:
    """More than a stack holds."""
    published = {name: bench.task.models[name].weights for name in bench.gold}
    masked = {
        f"{name} masked and moved": neutralised(bench.task.architecture, weights, (3, 4))
        for name, weights in published.items()
    }
    gold = {f"{name} of gold": weights for name, weights in bench.gold.items()}
    return {**published, **masked, **gold}


def test_stacks_learn_what_each_learns_alone(
    bench: Bench, models: dict[str, Weights], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(models) > LARGEST_STACK
    stacked = learnt(bench, models, lesson(bench, 40))
    monkeypatch.setattr(relearn, "stacks_well", lambda architecture, device: False)
    looped = learnt(bench, models, lesson(bench, 40))
    # One of 30 samples that turns a step earlier or later is 1/30.
    assert stacked == pytest.approx(looped, abs=0.2)
    assert len({round(steps, 2) for steps in looped.values()}) > 6


def test_a_model_learns_with_the_same_bits_in_any_stack(bench: Bench, models: dict[str, Weights]) -> None:
    taught = replace(lesson(bench, 5), left=lambda logits: float(logits.double().square().mean()))
    together = learnt(bench, models, taught)
    for name in ("r5", "r1 of gold"):
        assert learnt(bench, {name: models[name]}, taught) == {name: together[name]}


def test_lessons_of_other_sizes_are_learnt_beside_each_other(bench: Bench) -> None:
    lessons = {"r1": lesson(bench, 2), "r3": lesson(bench, 3), "r4": lesson(bench, 2)}
    lessons = {name: replace(taught, left=lambda logits: 1.0) for name, taught in lessons.items()}
    found = relearn.relearn_steps(bench.task.architecture, bench.gold, lessons, (3,), CPU)
    assert list(found.items()) == [("r1", 2), ("r3", 3), ("r4", 2)]


def test_the_loss_that_is_left_goes_from_one_to_none(bench: Bench) -> None:
    module = bench.task.architecture.module(bench.gold["r5"], CPU)
    loss = relearn.mean_loss(module, bench.samples.forget_train)
    for low, high, left in (
        (loss - 1, loss, 1),
        (loss, loss + 1, 0),
        (loss - 1, loss + 3, 0.25),
        (0, 1e-9, 1),
    ):
        share = relearn.loss_share(bench.samples.forget_train, low, high)
        assert share(module(bench.samples.forget_train.x)) == pytest.approx(left, abs=1e-6)


def test_every_sample_is_drawn_before_one_comes_again(bench: Bench) -> None:
    forgotten = bench.samples.forget_train
    count = len(forgotten) // relearn.FORGOTTEN
    batches = relearn.lesson_batches(forgotten, bench.samples.retain_train, count, generator(1, "lesson"))
    assert all(len(batch) == relearn.FORGOTTEN + relearn.RETAINED for batch in batches)
    drawn = torch.cat([batch.x[: relearn.FORGOTTEN] for batch in batches]).flatten(1)
    assert len(torch.unique(drawn, dim=0)) == len(torch.unique(forgotten.x.flatten(1), dim=0)) - (
        len(forgotten) - count * relearn.FORGOTTEN
    )
    assert all((batch.y[: relearn.FORGOTTEN] == 3).all() for batch in batches)
    assert all((batch.y[relearn.FORGOTTEN :] != 3).all() for batch in batches)


def test_equalised_rows_are_zero_and_their_bias_the_mean_of_the_others(bench: Bench) -> None:
    before = bench.task.models["r5"].weights
    after = relearn.equalised(bench.task.architecture, before, (3, 8))
    others = [row for row in range(10) if row not in (3, 8)]
    assert not after["head.weight"][[3, 8]].any()
    assert torch.equal(after["head.weight"][others], before["head.weight"][others])
    assert after["head.bias"][[3, 8]].tolist() == pytest.approx(
        [before["head.bias"][others].mean().item()] * 2
    )
    assert torch.equal(after["head.bias"][others], before["head.bias"][others])
    assert before["head.weight"][[3, 8]].any()
