# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.streams import generator
from blockful_py.unlearning.audit.residual import DRAWS, RADIUS, perturbed, residual_knowledge


def test_neighbours_lie_at_the_radius_and_keep_their_labels() -> None:
    samples = Samples(torch.rand(5, 1, 4, 4), torch.arange(5))
    near = perturbed(samples, generator(1, "near"))
    assert len(near) == DRAWS * 5
    assert near.y.tolist() == list(range(5)) * DRAWS
    distance = (near.x - samples.x.repeat(DRAWS, 1, 1, 1)).flatten(1).square().mean(1).sqrt()
    assert distance.numpy() == pytest.approx(np.full(DRAWS * 5, RADIUS), rel=1e-4)
    assert torch.equal(perturbed(samples, generator(1, "near")).x, near.x)


def test_equal_rates_leave_nothing() -> None:
    shown = np.where(np.random.default_rng(0).random((2, 64, 50)) < 0.3, 1.0, -1.0)
    found = residual_knowledge(shown[0], shown[1])
    assert found.ratio.low < 1 < found.ratio.high
    assert found.excess.low < 0 < found.excess.high


def test_what_only_models_that_unlearned_recognise_stays() -> None:
    found = residual_knowledge(np.ones((8, 3)), -np.ones((8, 3)))
    assert found.ratio.value == math.inf
    assert (found.excess.value, found.excess.low) == (1, 1)


def test_nothing_recognised_by_either_leaves_nothing() -> None:
    assert residual_knowledge(-np.ones((8, 3)), -np.ones((8, 3))).ratio.value == 1
