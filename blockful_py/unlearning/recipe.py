# SPDX-License-Identifier: Apache-2.0
"""Repeats a published model's own training on other samples, by its own recipe or a shorter one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from blockful_py.learning.data import Samples
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class Recipe:
    """A training's length and batches, relative to a published model's own.

    Smaller batches make more steps of a pass.  The rate falls with the square root of the batch, so that the
    noise of a step, whose covariance is proportional to rate^2 / batch, stays (Hoffer et al. 2017, arXiv
    1705.08741).

    Attributes:
        share: share of the epochs, rounded to at least one.
        smaller: factor by which batches are smaller, of at least one sample.
    """

    share: float = 1.0
    smaller: int = 1

    def of(self, training: TrainingSettings) -> TrainingSettings:
        """phi of the training that takes the place of `training`."""
        batch = max(1, training.batch_size // self.smaller)
        return replace(
            training,
            epochs=max(1, round(self.share * training.epochs)),
            batch_size=batch,
            learning_rate=training.learning_rate * math.sqrt(batch / training.batch_size),
        )


PUBLISHED = Recipe()
SHORT = Recipe(share=0.25, smaller=8)
RECIPES: Mapping[str, Recipe] = MappingProxyType({"published": PUBLISHED, "short": SHORT})
"""Recipes by their names in requests."""


def job_of(
    model: TrainedModel,
    start: Weights,
    retained: Samples,
    seed: int,
    purpose: str,
    recipe: Recipe = PUBLISHED,
) -> TrainingJob:
    """The job `Train(start, phi_y, retained)` of the paper's eq. 18.

    Args:
        start: initial state dict.
        retained: n samples, n at least 1.
        purpose: name of the stream that shuffles the samples.
    """
    stream = generator(seed, purpose, model.user, model.round)
    return TrainingJob(start, retained, recipe.of(model.training), stream)
