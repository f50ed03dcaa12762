# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch

from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit import Bench, relearn
from blockful_py.unlearning.head import neutralised, output_layer

CPU = torch.device("cpu")


def lesson(bench: Bench, steps: int) -> relearn.Lesson:
    batches = relearn.lesson_batches(
        bench.samples.forget_train, bench.samples.retain_train, steps, generator(1, "lesson")
    )
    return relearn.Lesson(batches, relearn.wrong_share(bench.samples.forget_test))


def steps(bench: Bench, weights: Weights) -> float:
    taught = lesson(bench, 40)
    return relearn.relearn_steps(bench.task.architecture, weights, taught, bench.samples.classes, CPU)


def test_what_was_never_forgotten_comes_back_sooner_than_what_was_never_known(bench: Bench) -> None:
    known = steps(bench, bench.task.models["r5"].weights)
    never = steps(bench, bench.gold["r5"])
    assert 0 < known < never < 40


def test_a_masked_head_is_taken_away_first(bench: Bench) -> None:
    weights = bench.task.models["r5"].weights
    masked = neutralised(bench.task.architecture, weights, bench.samples.classes)
    assert steps(bench, masked) == steps(bench, weights)


def test_what_is_never_learnt_takes_all_steps(bench: Bench) -> None:
    hopeless = relearn.Lesson(lesson(bench, 3).batches, lambda module: 1.0)
    weights = bench.gold["r5"]
    assert relearn.relearn_steps(bench.task.architecture, weights, hopeless, (3,), CPU) == 3


def test_what_is_known_throughout_takes_none(bench: Bench) -> None:
    easy = relearn.Lesson(lesson(bench, 3).batches, lambda module: 0.0)
    assert relearn.relearn_steps(bench.task.architecture, bench.gold["r5"], easy, (3,), CPU) == 0


def test_the_loss_that_is_left_goes_from_one_to_none(bench: Bench) -> None:
    module = bench.task.architecture.module(bench.gold["r5"], CPU)
    loss = relearn.mean_loss(module, bench.samples.forget_train)
    for low, high, left in (
        (loss - 1, loss, 1),
        (loss, loss + 1, 0),
        (loss - 1, loss + 3, 0.25),
        (0, 1e-9, 1),
    ):
        assert relearn.loss_share(bench.samples.forget_train, low, high)(module) == pytest.approx(
            left, abs=1e-6
        )


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
    module = bench.task.architecture.module(bench.task.models["r5"].weights, CPU)
    _, head = output_layer(module, 10)
    before = head.bias.detach().clone()
    relearn.equalise(head, (3, 8))
    others = [row for row in range(10) if row not in (3, 8)]
    assert not head.weight[[3, 8]].any()
    assert head.weight[others].any(1).all()
    assert head.bias[[3, 8]].tolist() == pytest.approx([before[others].mean().item()] * 2)
    assert torch.equal(head.bias[others], before[others])
