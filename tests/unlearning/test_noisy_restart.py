# SPDX-License-Identifier: Apache-2.0
"""The certified method: its noise, and the differences that the noise hides."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.weights import flatten
from blockful_py.unlearning.noisy_restart import NoisyRestart, gaussian_noise
from blockful_py.unlearning.propagation import moved
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.conftest import UnlearningCase


def test_the_noise_is_that_of_the_literature() -> None:
    assert gaussian_noise(1, 1, 1e-5) == pytest.approx(3.7306, abs=1e-4)


@given(st.floats(0.05, 20), st.floats(1e-8, 0.3), st.floats(0.01, 10))
def test_the_noise_suffices_and_less_does_not(epsilon: float, delta: float, sensitivity: float) -> None:
    sigma = gaussian_noise(sensitivity, epsilon, delta)

    def below(x: float) -> float:  # the standard normal distribution; precise in its lower tail
        return math.erfc(-x / math.sqrt(2)) / 2

    def spent(noise: float) -> float:
        a, b = sensitivity / (2 * noise), epsilon * noise / sensitivity
        return below(a - b) - math.exp(epsilon) * below(-a - b)

    assert spent(sigma) <= delta * (1 + 1e-6)
    assert spent(0.99 * sigma) > delta


def published_as(task: UnlearningTask, name: str, size: float) -> UnlearningTask:
    """The task, with a model moved far away."""
    model = task.models[name]
    direction = np.random.default_rng(0).normal(size=len(flatten(model.weights)))
    other = replace(model, weights=moved(model.weights, size * direction))
    return replace(task, models={**task.models, name: other})


def test_no_model_moves_the_start_by_more_than_two_radii(tiny: UnlearningCase) -> None:
    method = NoisyRestart(radius=0.5)
    starts = [
        flatten(method.start_of(published_as(tiny.task, "c", size), "c")).astype(np.float64)
        for size in (-3.0, 0.0, 3.0)
    ]
    distances = [np.linalg.norm(a - b) for a in starts for b in starts]
    assert max(distances) <= 2 * method.radius + 1e-4
    assert max(distances) > method.radius  # a larger bound than the clip's would leave noise unused


def test_the_noise_has_the_size_that_it_says(tiny: UnlearningCase) -> None:
    method = NoisyRestart(radius=1e-6)
    noise = flatten(method.start_of(tiny.task, "c")) - flatten(tiny.task.initial)
    sigma = gaussian_noise(2 * method.radius, method.epsilon, method.delta)
    assert noise.std() == pytest.approx(sigma, rel=0.1)


def test_a_client_that_keeps_nothing_leaves_noise(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, forget=Forget.of_clients([tiny.task.models["b"].user]))
    method = NoisyRestart()
    after = method.unlearn(task).weights["b"]
    assert np.array_equal(flatten(after), flatten(method.start_of(task, "b")))


@pytest.mark.parametrize("setting", [{"epsilon": 0.0}, {"delta": 1.0}, {"delta": 0.0}, {"radius": -1.0}])
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match="must be positive, delta between 0 and 1"):
        NoisyRestart(**setting)
