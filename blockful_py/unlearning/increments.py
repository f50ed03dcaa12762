# SPDX-License-Identifier: Apache-2.0
"""Clean increments: each model's own training, repeated without the forgotten samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.learning.weights import Weights, flatten, require_same_form
from blockful_py.unlearning.retraining import aggregate_of, retrain_wave
from blockful_py.unlearning.stored_increments import CLEAN, StoredIncrement, base_of
from blockful_py.unlearning.task import UnlearningTask

Change = NDArray[np.float64]
"""A change of all D floating-point weights, float64 (D,), in the order of `flatten`."""


def holders(task: UnlearningTask) -> tuple[str, ...]:
    """Affected models and their ancestors that were trained on forgotten samples, in topological order.

    Root ancestors are omitted (see `CleanIncrements`).

    Raises UnlearningError: a model, one of its references or its owner's data is missing.
    """
    affected = set(task.affected())
    above = set(task.graph.ancestors(task.starts)) | set(task.graph.ancestors(affected))
    names = []
    for name in task.graph.topological_order():
        if name not in affected and (name not in above or not task.references(name)):
            continue
        needed = (name, *task.references(name))
        missing = [other for other in needed if other not in task.models]
        if missing or task.models[name].user not in task.users:
            raise UnlearningError(
                f"clean increments need all ancestors of the affected models, with their owners' data: "
                f"{', '.join(missing) or f'the data of user {task.models[name].user}'} is missing."
            )
        if len(task.forgotten(name)):
            names.append(name)
    return tuple(names)


def clean_increments(task: UnlearningTask, names: Sequence[str], share: float = 1.0) -> dict[str, Change]:
    """Trains `d_j = Train(agg_j, D_j without the forgotten) - w_j` for every j of `names`: float64 (D,).

    agg_j is the mean of the published references.  The training repeats the model's own, or a share of its
    epochs, with a random stream of its own; if an owner keeps no samples, it returns agg_j.

    Raises LearningError: a result that is not finite.
    """
    return _changes(task, retrain_wave(task, names, {}, CLEAN, share))


def stored_increments(task: UnlearningTask, names: Sequence[str]) -> dict[str, Change]:
    """Stored increments of `names` that fit the task, float64 (D,): see `fits`."""
    stored = {name: task.stored[name] for name in names if name in task.stored}
    return _changes(task, {name: kept.weights for name, kept in stored.items() if fits(task, name, kept, {})})


def fits(task: UnlearningTask, name: str, kept: StoredIncrement, updated: Mapping[str, Weights]) -> bool:
    """Whether a stored training can serve the task.

    It must leave out exactly the samples that the model may not be trained on, have started from the mean of
    the references (as in `updated`, otherwise as published), and belong to the model as published.
    """
    published = task.models[name].weights
    try:
        require_same_form({name: published, "its increment": kept.weights})
    except LearningError:
        return False
    base = base_of(aggregate_of(task, name, updated), published)
    asked = task.forgets(name) == (kept.left_out,)
    return asked and kept.base == base


def _changes(task: UnlearningTask, clean: Mapping[str, Weights]) -> dict[str, Change]:
    return {name: vector(weights) - vector(task.models[name].weights) for name, weights in clean.items()}


def clipped(changes: Mapping[str, Change], limit: float) -> dict[str, Change]:
    """Clips changes: `d_j min(1, limit * median_k |d_k| / |d_j|)`, L2 norms of one or more changes (D,)."""
    norms = {name: float(np.sqrt(np.square(change).sum())) for name, change in changes.items()}
    longest = limit * median(norms.values())
    return {
        name: change * (longest / norms[name]) if norms[name] > longest else change
        for name, change in changes.items()
    }


def passed_on(task: UnlearningTask, changes: Mapping[str, Change]) -> dict[str, Change]:
    """Passes changes on: `P_y = (1/N_y) sum over references j of (d_j + P_j)`, P = 0 at the roots.

    `d_y + P_y` equals `sum_j C[y, j] d_j`, with C of the paper's eq. 8 over all models and `C[j, j] = 1`.
    One pass over the graph returns P, float64 (D,), of all models of the task; zeros if no change reaches a
    model.
    """
    size = len(vector(task.initial))
    total: dict[str, Change] = {}
    passed: dict[str, Change] = {}
    for name in task.graph.topological_order():
        if name not in task.models:
            continue
        references = task.references(name)
        received = np.zeros(size)
        for reference in references:
            if reference in total:
                received += total[reference] / len(references)
        passed[name] = received
        total[name] = received + changes[name] if name in changes else received
    return passed


def vector(weights: Weights) -> Change:
    """The weights as a vector, float64 (D,)."""
    return flatten(weights).astype(np.float64)
