# SPDX-License-Identifier: Apache-2.0
"""Retraining of one model without what is forgotten (paper, eq. 17 and 18)."""

from __future__ import annotations

from collections.abc import Mapping

from blockful_py.learning.aggregation import aggregate
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work
from blockful_py.unlearning.task import UnlearningTask


def retrain_model(
    task: UnlearningTask, name: str, updated: Mapping[str, Weights], work: Work | None = None
) -> Weights:
    """`w'_y = train(mean of the references, phi_y, D_y without the forgotten)`.

    References are taken from `updated` where they are there, else as published; a root starts again
    from the shared initialisation.  A client that keeps nothing adds nothing: its model is the aggregate.
    """
    model = task.models[name]
    start = aggregate_of(task, name, updated)
    retained = task.retained(name)
    if not len(retained):
        return start
    if work is not None:
        work.trained(model.training.epochs * len(retained))
    stream = generator(task.seed, "retrain", model.user, model.round)
    return train(task.architecture, start, retained, model.training, stream)


def aggregate_of(task: UnlearningTask, name: str, updated: Mapping[str, Weights]) -> Weights:
    """Mean of a model's references (eq. 17); the shared initialisation where it has none."""
    references = [
        updated.get(reference, task.models[reference].weights) for reference in task.graph.references(name)
    ]
    return aggregate(references) if references else task.initial
