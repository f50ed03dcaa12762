# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.settings import TrainingSettings
from blockful_py.unlearning.recipe import PUBLISHED, RECIPES, SHORT, Recipe

OWN = TrainingSettings(epochs=32, batch_size=32, learning_rate=0.05)


def test_a_short_training_sees_a_quarter_of_the_samples_in_smaller_batches() -> None:
    short = SHORT.of(OWN)
    assert (short.epochs, short.batch_size) == (8, 4)
    assert short == replace(OWN, epochs=8, batch_size=4, learning_rate=short.learning_rate)


@pytest.mark.parametrize("batch", [1, 5, 8, 32, 100])
def test_the_noise_of_a_step_stays(batch: int) -> None:
    """Also where the batch cannot be an eighth of its size."""
    own = replace(OWN, batch_size=batch)
    short = SHORT.of(own)
    noise = short.learning_rate**2 / short.batch_size
    assert noise == pytest.approx(own.learning_rate**2 / own.batch_size)


def test_the_published_recipe_is_the_models_own() -> None:
    assert PUBLISHED.of(OWN) == OWN
    assert RECIPES == {"published": PUBLISHED, "short": SHORT}


def test_no_training_is_shorter_than_an_epoch() -> None:
    assert Recipe(0.01).of(OWN).epochs == 1
