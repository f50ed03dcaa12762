# SPDX-License-Identifier: Apache-2.0
"""A published model's own training, once more, on other samples."""

from __future__ import annotations

from blockful_py.learning.data import Samples
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.streams import generator
from blockful_py.learning.together import Job
from blockful_py.learning.weights import Weights


def job_of(model: TrainedModel, start: Weights, retained: Samples, seed: int, purpose: str) -> Job:
    """`Train(start, phi_y, retained)`; `purpose` names the stream that shuffles the samples."""
    return Job(start, retained, model.training, generator(seed, purpose, model.user, model.round))
