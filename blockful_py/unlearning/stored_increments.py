# SPDX-License-Identifier: Apache-2.0
"""Clean trainings made at publication, for later requests (docs/explanation/unlearning.md explains why).

A model's owner trains it a second time, without a class, and stores the result with the model.  A request to
forget the class then needs no training by the owner.  A training from the mean of the published references
gives an increment for `clean_increments`.  A training from the mean of the references' clean models gives the
model that `retrain_ahead` publishes instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSpec, TrainedModel, initial_weights
from blockful_py.learning.together import train_together
from blockful_py.learning.weights import Weights, aggregate, to_bytes
from blockful_py.unlearning.recipe import job_of

CLEAN = "clean"
"""Purpose of the streams of clean trainings, whether made for a request or stored before."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredIncrement:
    """A clean training; its weights are stored, and the increment is `d_j = weights - w_j`.

    Attributes:
        left_out: data excluded from the training.
        weights: `Train(agg_j, D_j without left_out)`, a state dict on the CPU; agg_j is the mean of the
            references as published, or of their clean models.
        base: `base_of(agg_j, w_j)`, 32 bytes.  It differs once the model or one of its references has
            changed: the increment then belongs to an earlier model, and may still contain knowledge that the
            change forgot.
        checkable: whether the caller of `store_clean_models` gave the seed of its batches.
    """

    left_out: Forget
    weights: Weights
    base: bytes
    checkable: bool = False


def base_of(start: Weights, published: Weights) -> bytes:
    """SHA-256, 32 bytes, of the initial weights of a training and the published ones, as safetensors."""
    digest = hashlib.sha256(to_bytes(start))
    digest.update(to_bytes(published))
    return digest.digest()


def store_increments(
    settings: FederationSpec,
    models: Iterable[TrainedModel],
    users: Iterable[UserData],
    classes: Iterable[int],
    published: Mapping[str, TrainedModel] | None = None,
) -> dict[int, dict[str, StoredIncrement]]:
    """Increments by class, then by model, of every model whose owner holds the class and others.

    The task that forgets class 3 takes the entry 3.  All are trained side by side, with the seeds, and so the
    bits, of increments made by a request.

    Args:
        published: references of `models` outside `models`; no other model is read.

    Raises:
        LearningError: a reference or an owner's data is missing, or the models are trained with noise:
            each increment would spend the samples' privacy once more.
    """
    listed = tuple(models)
    known = _with_references(listed, published or {})
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
    increments: dict[int, dict[str, StoredIncrement]] = {label: {} for label, _ in wanted}
    trained = train_together(settings.architecture, jobs, settings.fitter)
    for (label, model), weights in zip(wanted, trained, strict=True):
        base = base_of(starts[model.name], model.weights)
        increments[label][model.name] = StoredIncrement(Forget.of_classes([label]), weights, base)
    return increments


def store_clean_models(
    settings: FederationSpec,
    models: Iterable[TrainedModel],
    users: Iterable[UserData],
    classes: Iterable[int],
    published: Mapping[str, TrainedModel] | None = None,
    clean: Mapping[int, Mapping[str, Weights | None]] | None = None,
    seeds: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, dict[str, StoredIncrement]]:
    """Clean models for `retrain_ahead`, by class, then by model, of every model that the class has reached.

    A class reaches a model by its owner's data or by a reference that has a clean model.  Each clean model
    starts from the mean of its references' clean models; a reference that has none counts as clean itself.
    So an owner needs its own data and its references alone.  The models of one wave are trained side by side,
    with the seed of clean models made by a request.

    Args:
        published: references of `models` outside `models`; no other model is read.
        clean: clean models of `published`, state dicts by class, then by model.  None for a model that the
            class may have reached and that has none: its heirs get none either, and a request trains both.
        seeds: seeds, by class, that draw the batches instead.

    Raises LearningError as `store_increments`.
    """
    listed = tuple(models)
    known, owners = _with_references(listed, published or {}), {user.index: user for user in users}
    increments: dict[int, dict[str, StoredIncrement]] = {label: {} for label in dict.fromkeys(classes)}
    lines = {label: _given((clean or {}).get(label, {}), listed, known) for label in increments}
    for wave in _graph_of(listed).waves():
        starts: dict[tuple[int, str], Weights] = {}
        for label, line in lines.items():
            for name in wave:
                references = [line[each.name] for each in known[name].references if each.name in line]
                if any(each is None for each in references):
                    line[name] = None
                elif references or label in _owner_of(owners, known[name]).train.classes():
                    _require_no_noise(known[name])
                    starts[label, name] = _start(settings, known[name], known, line)
        retained = {(label, name): owners[known[name].user].train.without([label]) for label, name in starts}
        teachable = [key for key, samples in retained.items() if len(samples)]
        drawn_by = {label: seeds.get(label, settings.seed) for label in increments}
        jobs = [
            job_of(known[name], starts[label, name], retained[label, name], drawn_by[label], CLEAN)
            for label, name in teachable
        ]
        trained = train_together(settings.architecture, jobs, settings.fitter)
        made = {**starts, **dict(zip(teachable, trained, strict=True))}
        for (label, name), weights in made.items():
            lines[label][name] = weights
            base = base_of(starts[label, name], known[name].weights)
            left_out = Forget.of_classes([label])
            increments[label][name] = StoredIncrement(left_out, weights, base, label in seeds)
    return increments


def _given(
    clean: Mapping[str, Weights | None], models: Sequence[TrainedModel], known: Mapping[str, TrainedModel]
) -> dict[str, Weights | None]:
    """The clean models of the references outside `models`; no other is read."""
    own = {model.name for model in models}
    return {name: clean[name] for name in known if name not in own and name in clean}


def _graph_of(models: Sequence[TrainedModel]) -> InheritanceGraph:
    """The graph of these models, without their references outside."""
    own = {model.name for model in models}
    return InheritanceGraph.from_references(
        {model.name: [each.name for each in model.references if each.name in own] for model in models}
    )


def _holds_class_and_more(owners: Mapping[int, UserData], model: TrainedModel, label: int) -> bool:
    _require_no_noise(model)
    held = _owner_of(owners, model).train.classes()
    return label in held and len(held) > 1


def _owner_of(owners: Mapping[int, UserData], model: TrainedModel) -> UserData:
    if model.user not in owners:
        raise LearningError(f"the data of user {model.user}, who owns {model.name!r}, is missing.")
    return owners[model.user]


def _require_no_noise(model: TrainedModel) -> None:
    if model.training.privacy is not None:
        raise LearningError(
            f"model {model.name!r} is trained with noise; an increment of it would spend the privacy of its "
            "owner's samples once more: store none."
        )


def _with_references(
    models: Iterable[TrainedModel], published: Mapping[str, TrainedModel]
) -> dict[str, TrainedModel]:
    """The models and their references."""
    own = {model.name: model for model in models}
    references = {reference.name for model in own.values() for reference in model.references}
    return {name: published[name] for name in sorted(references & published.keys() - own.keys())} | own


def _start(
    settings: FederationSpec,
    model: TrainedModel,
    known: Mapping[str, TrainedModel],
    clean: Mapping[str, Weights | None] = MappingProxyType({}),
) -> Weights:
    """Mean of the references, by their clean models where they have one; a root's shared initialisation."""
    names = [reference.name for reference in model.references]
    missing = sorted(set(names) - known.keys())
    if missing:
        raise LearningError(f"{model.name!r} was trained from {', '.join(missing)}: give these models too.")
    weights = [clean.get(name) or known[name].weights for name in names]
    return aggregate(weights) if weights else initial_weights(settings)
