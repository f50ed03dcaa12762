# SPDX-License-Identifier: Apache-2.0
"""Curves describe a training, alone and in a stack, and leave private trainings alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from blockful_py.learning.curves import Tally
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, fit_together
from blockful_py.learning.training import Fitted, fit
from blockful_py.learning.weights import equal
from blockful_py.settings import PrivacySettings, TrainingSettings

LOOP = TrainingSettings(epochs=3, batch_size=16, together="loop")
STACKED = replace(LOOP, together="stacked")


def fitted(cnn: Architecture, parts: list[Samples], settings: TrainingSettings) -> tuple[Fitted, ...]:
    jobs = [
        TrainingJob(cnn.initial(generator(i)), part, settings, generator(5, i))
        for i, part in enumerate(parts)
    ]
    return fit_together(cnn, jobs)


@pytest.fixture(scope="module")
def parts(users: tuple[UserData, ...]) -> list[Samples]:
    return [user.train.at(torch.arange(size)) for user, size in zip(users, (30, 33, 40, 17), strict=False)]


def test_a_curve_is_what_the_batches_met(cnn: Architecture, parts: list[Samples]) -> None:
    """One batch an epoch: the loss and accuracy of the weights that each epoch starts from."""
    settings = TrainingSettings(epochs=3, batch_size=64, final_rate_share=1.0, learning_rate=0.05)
    own = parts[0]
    curve = fit(cnn, cnn.initial(generator(0)), own, settings, generator(1)).curve
    assert curve is not None
    for epochs in range(3):
        weights = cnn.initial(generator(0))
        if epochs:
            weights = fit(cnn, weights, own, replace(settings, epochs=epochs), generator(1)).weights
        with torch.inference_mode():
            logits = cnn.module(weights, torch.device("cpu"))(own.x)
        assert curve.loss[epochs] == pytest.approx(float(functional.cross_entropy(logits, own.y)), rel=1e-5)
        assert curve.accuracy[epochs] == float((logits.argmax(1) == own.y).double().mean())


def test_a_model_that_is_sure_and_wrong_has_a_finite_loss(cnn: Architecture, parts: list[Samples]) -> None:
    """Its label's probability is below the resolution of the stacks' softmax."""
    weights = cnn.initial(generator(0))
    (bias,) = (name for name, tensor in weights.items() if tensor.shape == (cnn.class_count,))
    weights[bias][9] = 1_000.0
    settings = TrainingSettings(epochs=1, learning_rate=1e-6, batch_size=64, together="stacked")
    job = TrainingJob(weights, parts[0], settings, generator(1))
    (done,) = fit_together(cnn, [job])
    assert done.curve is not None
    wrong = float((parts[0].y != 9).double().mean())
    assert wrong > 0
    assert done.curve.loss[0] == pytest.approx(40 * math.log(2) * wrong)


def test_an_epoch_counts_every_sample_once() -> None:
    """Two models of 3 and 2 samples, two epochs of two batches; the second's last batch is filled up."""
    tally = Tally()
    logits, labels = torch.eye(2)[[0, 0, 0, 0]], torch.tensor([0, 1, 0, 0])
    tally.step(torch.tensor([1.0, 2.0, 5.0, 7.0]), logits, labels)
    tally.step(torch.tensor([6.0, 100.0]), logits[:2], labels[:2])
    tally.step(torch.tensor([0.0, 0.0, 1.0, 1.0]), logits, labels)
    tally.step(torch.tensor([3.0, 100.0]), logits[:2], labels[:2])
    first, second = tally.curves([3, 2], 2)
    assert first.loss == (3.0, 1.0)
    assert first.accuracy == pytest.approx((2 / 3, 2 / 3))
    assert second.loss == (6.0, 1.0)
    assert second.accuracy == (1.0, 1.0)


def test_many_steps_are_judged_as_few() -> None:
    logits, labels = torch.randn(600, 4, generator=generator(0)), torch.arange(600) % 4
    losses = functional.cross_entropy(logits, labels, reduction="none")
    whole, parts = Tally(), Tally()
    whole.step(losses, logits, labels)
    for rows in torch.arange(600).split(3):  # 200 steps
        parts.step(losses[rows].mean(), logits[rows], labels[rows])
    (expected,), (found,) = whole.curves([600], 1), parts.curves([600], 1)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    assert found.accuracy == expected.accuracy


def test_stacked_curves_are_those_of_the_loop(cnn: Architecture, parts: list[Samples]) -> None:
    for alone, stacked in zip(fitted(cnn, parts, LOOP), fitted(cnn, parts, STACKED), strict=True):
        assert alone.curve is not None and stacked.curve is not None
        assert len(stacked.curve.loss) == len(stacked.curve.accuracy) == 3
        assert stacked.curve.loss == pytest.approx(alone.curve.loss, abs=1e-4)
        assert stacked.curve.accuracy == pytest.approx(alone.curve.accuracy, abs=0.05)


@pytest.mark.parametrize("settings", [LOOP, STACKED], ids=["loop", "stacked"])
def test_curves_do_not_depend_on_the_company(
    cnn: Architecture, parts: list[Samples], settings: TrainingSettings
) -> None:
    together = fitted(cnn, parts, settings)
    alone = fitted(cnn, parts[:1], settings)[0]
    assert alone.curve == together[0].curve
    assert equal(alone.weights, together[0].weights)
    assert alone.curve != together[1].curve


@pytest.mark.slow
def test_a_private_training_shows_no_curve(cnn: Architecture, digits: Dataset) -> None:
    """epsilon would not cover it."""
    some = digits.train.at(torch.arange(40))
    private = replace(LOOP, epochs=1, privacy=PrivacySettings(noise=1.0))
    assert fit(cnn, cnn.initial(generator(0)), some, private, generator(0)).curve is None
