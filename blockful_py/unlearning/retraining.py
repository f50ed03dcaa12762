# SPDX-License-Identifier: Apache-2.0
"""Retraining without the forgotten samples (paper, eq. 17 and 18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.learning.together import train_together
from blockful_py.learning.trainer import Assignment, train_by
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.recipe import epochs_of, job_of
from blockful_py.unlearning.task import UnlearningTask

RETRAIN = "retrain"
"""Purpose of the streams of retrainings."""


def retrain_model(
    task: UnlearningTask, name: str, updated: Mapping[str, Weights], work: Work | None = None
) -> Weights:
    """Retrains one model: `w'_y = train(mean of the references, phi_y, D_y without the forgotten)` (eq. 18).

    A root starts again from the shared initialisation.  If the owner keeps no samples, the result is the mean
    of the references.

    Args:
        updated: new state dicts by model; other references are used as published.
        work: counts the sample passes.

    Returns a state dict on the CPU.

    Raises LearningError: a result that is not finite.
    """
    if work is not None and task.keeps(name):
        work.trained(passes_of(task, name))
    return retrain_wave(task, [name], updated)[name]


def retrain_wave(
    task: UnlearningTask,
    names: Sequence[str],
    updated: Mapping[str, Weights],
    purpose: str = RETRAIN,
    share: float = 1.0,
) -> dict[str, Weights]:
    """Retrains models that do not depend on each other, side by side, as `retrain_model` does.

    Args:
        updated: new state dicts by model; other references are used as published.
        purpose: name of the streams that shuffle the samples.
        share: share of each model's epochs to train.
    """
    weights = {name: aggregate_of(task, name, updated) for name in names}
    teachable = [name for name in names if task.keeps(name)]
    if task.trainer is not None:
        assignments = [_assignment(task, name, weights[name]) for name in teachable]
        trained = train_by(task.trainer, task.architecture, assignments)
        return {**weights, **dict(zip(teachable, trained, strict=True))}
    jobs = [
        job_of(task.models[name], weights[name], task.retained(name), task.seed, purpose, share)
        for name in teachable
    ]
    weights.update(zip(teachable, train_together(task.architecture, jobs, task.fitter), strict=True))
    return weights


def passes_of(task: UnlearningTask, name: str, share: float = 1.0) -> int:
    """Sample passes of a model's retraining in a share of its epochs.

    0 if its owner keeps no samples, and for a trainer, whose passes are not counted.
    """
    if task.trainer is not None:
        return 0
    return epochs_of(task.models[name], share) * len(task.retained(name))


def aggregate_of(task: UnlearningTask, name: str, updated: Mapping[str, Weights]) -> Weights:
    """Mean of a model's references (paper, eq. 17); the shared initialisation without references."""
    references = [
        updated.get(reference, task.models[reference].weights) for reference in task.references(name)
    ]
    return aggregate(references) if references else task.initial


def _assignment(task: UnlearningTask, name: str, start: Weights) -> Assignment:
    model = task.models[name]
    return Assignment(name, model.user, model.round, start, task.seed)
