# SPDX-License-Identifier: Apache-2.0
"""Clean increments made when models are published, for requests that may come (docs/unlearning.md).

A model's owner trains it a second time, from the same references' mean, without a class, and keeps that
beside the model.  A request that forgets the class then need not ask the owner to train.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from blockful_py.errors import LearningError
from blockful_py.learning.aggregation import aggregate
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSettings, TrainedModel, initial_weights
from blockful_py.learning.together import train_together
from blockful_py.learning.weights import Weights, to_bytes
from blockful_py.unlearning.recipe import job_of

CLEAN = "clean"
"""Purpose of the streams of clean trainings, be they made for a request or stored before."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredIncrement:
    """`d_j = weights - w_j`, kept as its minuend, which has the form of a model.

    Attributes:
        label: the class.
        weights: `Train(agg_j, D_j without the class)`, on the CPU.
        base: `base_of(agg_j, w_j)`, 32 bytes.  Where the model or one of its references has changed since,
            the increment is that of another model, and still knows what the change forgot.
    """

    label: int
    weights: Weights
    base: bytes


def base_of(start: Weights, published: Weights) -> bytes:
    """SHA-256 over the safetensors bytes of what a model was trained from, then of what came of it."""
    digest = hashlib.sha256(to_bytes(start))
    digest.update(to_bytes(published))
    return digest.digest()


def store_increments(
    settings: FederationSettings,
    models: Iterable[TrainedModel],
    users: Iterable[UserData],
    classes: Iterable[int],
    published: Mapping[str, TrainedModel] | None = None,
) -> dict[int, dict[str, StoredIncrement]]:
    """Increments by class, then by model: of every model whose owner holds the class, and more than it.

    Give `stored[3]` to the task that forgets class 3.  All are trained side by side, with the seeds and so
    the bits that a request would make them with.

    Args:
        published: models that `models` refer to, where they are not among them.

    Raises:
        LearningError: a reference or an owner's data is missing, or the models are trained with noise:
            each increment would spend the samples' privacy once more.
    """
    listed = tuple(models)
    known = {**(published or {}), **{model.name: model for model in listed}}
    owners = {user.index: user for user in users}
    wanted = [
        (label, model)
        for label in dict.fromkeys(classes)
        for model in listed
        if _holds_class_and_more(owners, model, label)
    ]
    starts = {model.name: _start(settings, model, known) for _, model in wanted}
    jobs = [
        job_of(model, starts[model.name], owners[model.user].train.without([label]), settings.seed, CLEAN)
        for label, model in wanted
    ]
    found: dict[int, dict[str, StoredIncrement]] = {label: {} for label, _ in wanted}
    trained = train_together(settings.architecture, jobs)
    for (label, model), weights in zip(wanted, trained, strict=True):
        base = base_of(starts[model.name], model.weights)
        found[label][model.name] = StoredIncrement(label, weights, base)
    return found


def _holds_class_and_more(owners: Mapping[int, UserData], model: TrainedModel, label: int) -> bool:
    if model.user not in owners:
        raise LearningError(f"no data is there of user {model.user}, who owns {model.name!r}.")
    if model.training.privacy is not None:
        raise LearningError(
            f"model {model.name!r} is trained with noise; an increment of it would spend the privacy of its "
            "owner's samples once more: store none."
        )
    held = owners[model.user].train.classes()
    return label in held and len(held) > 1


def _start(settings: FederationSettings, model: TrainedModel, known: Mapping[str, TrainedModel]) -> Weights:
    """Mean of the references as published; the shared initialisation for a root."""
    names = [reference.name for reference in model.references]
    missing = sorted(set(names) - known.keys())
    if missing:
        raise LearningError(f"{model.name!r} was trained from {', '.join(missing)}: give these models too.")
    return aggregate([known[name].weights for name in names]) if names else initial_weights(settings)
