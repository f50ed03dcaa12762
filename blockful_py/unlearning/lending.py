# SPDX-License-Identifier: Apache-2.0
"""Lends forgotten samples to the methods that use them at every model."""

from __future__ import annotations

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.forget_sets import forget_set
from blockful_py.unlearning.task import UnlearningTask


def lent(task: UnlearningTask, name: str) -> Samples:
    """Forgotten samples, (m, ...) with m at least 1, for the owner of a model.

    The owner uses its own; without any, it borrows from the owners of the starts above the model.

    Raises UnlearningError: these owners hold none either.
    """
    own = task.forgotten(name)
    if len(own):
        return own
    above = {name, *task.graph.ancestors([name])}
    lenders = dict.fromkeys(task.models[start].user for start in task.starts if start in above)
    samples = pooled(forget_set(task.forget, task.users[user]) for user in lenders)
    if not len(samples):
        raise UnlearningError(
            f"neither the owner of {name!r} nor the owners of the starts above it hold data of "
            f"{task.forget}: start from a model whose owner does."
        )
    return samples
