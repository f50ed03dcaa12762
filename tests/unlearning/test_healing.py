# SPDX-License-Identifier: Apache-2.0
"""Healing ends once the proxy set improves no more, and never takes more than its bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn

from blockful_py.learning.data import Samples
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.descent import Descent
from blockful_py.unlearning.healing import LOOKS, heal

STEPS, BATCH = 8, 4
STRAIGHT = Descent(0.05, momentum=0.0, final_share=1.0)


@dataclass(eq=False)
class Counting:
    """Two classes told apart by the sign of a number; counts the batches that it learns from."""

    module: nn.Module = field(default_factory=lambda: nn.Linear(1, 2))
    learnt: int = 0

    def __post_init__(self) -> None:
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.zero_()
        self.module.register_forward_pre_hook(self._count)

    def _count(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.learnt += torch.is_grad_enabled()

    def healed(self, proxy: Samples | None, most: int | None = None, descent: Descent = STRAIGHT) -> Weights:
        return heal(self.module, signs(), proxy, descent, generator(0), BATCH, most, "a model")


def signs(flipped: bool = False) -> Samples:
    x = torch.linspace(-2, 2, STEPS * BATCH).unsqueeze(1)
    positive = (x[:, 0] > 0).to(torch.int64)
    return Samples(x, 1 - positive if flipped else positive)


def test_it_takes_one_pass_over_the_samples_where_nothing_is_looked_at() -> None:
    model = Counting()
    model.healed(None)
    assert model.learnt == STEPS
    bounded = Counting()
    bounded.healed(None, most=3)
    assert bounded.learnt == 3


def test_a_proxy_set_that_improves_lets_it_run_to_the_end() -> None:
    looked, blind = Counting(), Counting()
    assert equal(looked.healed(signs()), blind.healed(None))
    assert looked.learnt == STEPS


def test_it_ends_where_the_proxy_set_gets_worse_with_the_best_weights() -> None:
    model, first = Counting(), Counting()
    found = model.healed(signs(flipped=True))
    assert model.learnt == 2 * STEPS // LOOKS
    assert equal(found, first.healed(None, most=STEPS // LOOKS))


def test_an_improvement_too_small_ends_it_and_is_kept() -> None:
    slow = Descent(1e-4, momentum=0.0, final_share=1.0)
    model, both = Counting(), Counting()
    found = model.healed(signs(), descent=slow)
    assert model.learnt == 2 * STEPS // LOOKS
    assert equal(found, both.healed(None, most=2 * STEPS // LOOKS, descent=slow))


@pytest.mark.parametrize("most", [0, 1])
def test_few_steps_are_taken_as_they_are(most: int) -> None:
    model = Counting()
    model.healed(signs(flipped=True), most=most)
    assert model.learnt == most
