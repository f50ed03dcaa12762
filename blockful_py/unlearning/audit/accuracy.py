# SPDX-License-Identifier: Apache-2.0
"""AD_f and AD_r: accuracy on the forgotten and on the retained classes (paper, Evaluation Metrics)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import Scorer, hits
from blockful_py.learning.metrics import chance_level
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights


@dataclass(frozen=True, slots=True)
class ForgetRetain:
    """Accuracy, from 0 to 1, on the forgotten classes and on the others.

    Attributes:
        ad_f: None without samples of the forgotten classes.
        chance: highest AD_r that chance explains (`chance_level`).
        samples: number of samples behind AD_r.
    """

    ad_f: float | None
    ad_r: float
    chance: float | None = None
    samples: int | None = None

    @property
    def is_at_chance(self) -> bool:
        """Whether the model is no better than chance on the retained classes."""
        return self.chance is not None and self.ad_r <= self.chance

    @classmethod
    def of(cls, ad_f: float | None, right: Tensor, labels: Tensor, kept: Tensor) -> ForgetRetain:
        """Adds the AD_r of the samples `kept`, bool (n,); `right` is 1.0 for hits, float64 (n,)."""
        return cls(ad_f, right[kept].mean().item(), chance_level(labels[kept]), int(kept.sum()))


@dataclass(frozen=True, slots=True)
class ModelAccuracy:
    """AD_f and AD_r of one model, on all users' training data and on held-out test data."""

    train: ForgetRetain
    test: ForgetRetain


def audit_accuracy(
    architecture: Architecture,
    models: Mapping[str, Weights],
    train: Samples,
    test: Samples,
    classes: Collection[int],
) -> dict[str, ModelAccuracy]:
    """AD_f and AD_r of every model.

    Args:
        models: state dicts by name.
        train, test: samples (n, ...) of forgotten and of other classes.
        classes: the forgotten classes.

    Raises:
        UnlearningError: a set lacks samples of the forgotten classes, or of all others.
        LearningError: weights of another architecture.
    """
    on_train = forget_retain(architecture, models, train, classes, "train")
    on_test = forget_retain(architecture, models, test, classes, "test")
    return {name: ModelAccuracy(on_train[name], on_test[name]) for name in models}


def forget_retain(
    architecture: Architecture,
    models: Mapping[str, Weights],
    samples: Samples,
    classes: Collection[int],
    which: str,
    scorer: Scorer = hits,
    left_out: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> dict[str, ForgetRetain]:
    """AD_f and AD_r of every model on one set, named `which` in errors; otherwise as `audit_accuracy`.

    `left_out` lists, by model, classes to leave out of AD_r, as in `retained`.
    """
    forgotten = _among(samples.y, classes)
    if not bool(forgotten.any()) or bool(forgotten.all()):
        raise UnlearningError(
            f"the {which} data needs samples of the classes {sorted(classes)} and of others; "
            f"it has {samples.classes()}."
        )
    return {
        name: ForgetRetain.of(
            right[forgotten].mean().item(),
            right,
            samples.y,
            retained(samples.y, classes, left_out.get(name, ())),
        )
        for name, right in scorer(architecture, models, samples).items()
    }


def retained(labels: Tensor, classes: Collection[int], left_out: Collection[int]) -> Tensor:
    """Mask of the samples for AD_r, bool (n,): all outside `classes` and `left_out`.

    If that leaves none, `left_out` is ignored.
    """
    others = ~_among(labels, classes)
    kept = others & ~_among(labels, left_out)
    return kept if bool(kept.any()) else others


def _among(labels: Tensor, classes: Collection[int]) -> Tensor:
    return torch.isin(labels, torch.tensor(sorted(classes), dtype=labels.dtype, device=labels.device))
