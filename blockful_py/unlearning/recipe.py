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
    """`Train(start, phi_y, retained)`; `purpose` names the stream that shuffles the samples, `share` is of
    phi_y's epochs."""
    settings = replace(model.training, epochs=epochs_of(model, share))
    return TrainingJob(start, retained, settings, generator(seed, purpose, model.user, model.round))


def epochs_of(model: TrainedModel, share: float = 1.0) -> int:
    """So much of a model's epochs, rounded; at least one."""
    return max(1, round(share * model.training.epochs))
