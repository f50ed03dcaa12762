# SPDX-License-Identifier: Apache-2.0
"""Repeats a published model's own training on other samples."""

from __future__ import annotations

from dataclasses import replace

from blockful_py.learning.data import Samples
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.weights import Weights


def job_of(
    model: TrainedModel, start: Weights, retained: Samples, seed: int, purpose: str, share: float = 1.0
) -> TrainingJob:
    """The job `Train(start, phi_y, retained)` of the paper's eq. 18.

    Args:
        start: initial state dict.
        retained: n samples, n at least 1.
        purpose: name of the stream that shuffles the samples.
        share: share of phi_y's epochs to train.
    """
    settings = replace(model.training, epochs=epochs_of(model, share))
    return TrainingJob(start, retained, settings, generator(seed, purpose, model.user, model.round))


def epochs_of(model: TrainedModel, share: float = 1.0) -> int:
    """A share of a model's epochs, rounded to at least one."""
    return max(1, round(share * model.training.epochs))
