# SPDX-License-Identifier: Apache-2.0
"""Jobs that train in common stacks give the same results as alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch

from blockful_lab.experiments.attack import gathered
from blockful_lab.experiments.attack.gathered import side_by_side
from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import Fitter, TrainingJob, fit_together, train_together
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights, equal
from blockful_py.settings import TrainingSettings

CNN = Architecture("cnn", (1, 8, 8), 3)
SETTINGS = TrainingSettings(epochs=1, learning_rate=0.1, batch_size=8)


def job(seed: int, start: Weights) -> TrainingJob:
    stream = generator(seed, "samples")
    samples = Samples(torch.randn(16, 1, 8, 8, generator=stream), torch.arange(16) % 3)
    return TrainingJob(start, samples, SETTINGS, generator(seed, "train"))


def chain(seed: int, length: int) -> Callable[[Fitter], Weights]:
    """Models that are trained one after the other."""

    def work(fitter: Fitter) -> Weights:
        weights = CNN.initial(generator(seed, "initial"))
        for _ in range(length):
            (weights,) = train_together(CNN, [job(seed, weights)], fitter)
        return weights

    return work


def test_results_have_the_bits_of_works_alone_in_common_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    works = [chain(seed, length) for seed, length in ((1, 3), (2, 1), (3, 2), (4, 0))]
    alone = [work(fit_together) for work in works]
    sizes = []

    def counted(architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        sizes.append(len(jobs))
        return fit_together(architecture, jobs)

    monkeypatch.setattr(gathered, "fit_together", counted)
    together = side_by_side(works)
    assert all(equal(one, other) for one, other in zip(alone, together, strict=True))
    assert sizes == [3, 2, 1]


def test_an_error_of_one_work_reaches_the_caller_and_no_other_waits_for_it() -> None:
    def fails(fitter: Fitter) -> Weights:
        raise LearningError("no data")

    with pytest.raises(LearningError, match="no data"):
        side_by_side([chain(1, 2), fails])


def test_an_error_of_the_training_reaches_those_that_wait() -> None:
    def empty(fitter: Fitter) -> Weights:
        none = Samples(torch.empty(0, 1, 8, 8), torch.empty(0, dtype=torch.int64))
        jobs = [TrainingJob(CNN.initial(generator(1, "initial")), none, SETTINGS, generator(1, "train"))]
        return train_together(CNN, jobs, fitter)[0]

    with pytest.raises(LearningError):
        side_by_side([empty, chain(1, 1)])


def test_no_work_is_no_result() -> None:
    assert side_by_side([]) == []
