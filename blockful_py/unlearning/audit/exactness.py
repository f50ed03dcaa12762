# SPDX-License-Identifier: Apache-2.0
"""Exact forgetting: no bit of the result depends on the forgotten samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch

from blockful_py.errors import LearningError
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.task import UnlearningTask

NOISE = 0.01
"""Standard deviation of the noise added to each weight."""


def is_exact(
    task: UnlearningTask, unlearn: Callable[[UnlearningTask], Mapping[str, Weights]], seed: int = 0
) -> bool:
    """Whether a method's new weights keep their bits when the forgotten data changes.

    The test replaces the forgotten samples, including earlier requests', and all weights that they have
    reached.  If the new weights stay the same, they reveal only the number and the owners of these samples.
    One trial finds any dependence that shows when everything changes; it proves nothing about code that it
    does not reach.

    Args:
        unlearn: the method; returns state dicts by model.
        seed: seed of the replacement samples and weights.
    """
    return same_bits(unlearn(task), lambda: unlearn(with_others(task, seed)))


def same_bits(found: Mapping[str, Weights], again: Callable[[], Mapping[str, Weights]]) -> bool:
    """Whether `again` computes the same models; False if its weights are not finite."""
    try:
        others = again()
    except LearningError:
        return False
    return found.keys() == others.keys() and all(equal(found[name], others[name]) for name in found)


def with_others(task: UnlearningTask, seed: int = 0) -> UnlearningTask:
    """The task with other values of forgotten samples, and noise on published weights that they have reached.

    Trainings stored at publication are removed.
    """
    stream = generator(seed, "others")

    def other(user: UserData) -> UserData:
        x, forgotten = user.train.x.clone(), torch.ones_like(user.train.y, dtype=torch.bool)
        forgotten[rows_after(user, task.all_forgets)] = False
        values = x[forgotten]
        x[forgotten] = values.flatten()[torch.randperm(values.numel(), generator=stream)].view_as(values)
        return replace(user, train=Samples(x, user.train.y))

    def noisy(weights: Weights) -> Weights:
        return {
            key: tensor + NOISE * torch.randn(tensor.shape, generator=stream)
            if tensor.is_floating_point()
            else tensor
            for key, tensor in weights.items()
        }

    models = dict(task.models)
    for name in sorted(models.keys() & set(task.reached())):
        models[name] = replace(models[name], weights=noisy(models[name].weights))
    users = {index: other(user) for index, user in task.users.items()}
    return replace(task, users=users, models=models, stored={})
