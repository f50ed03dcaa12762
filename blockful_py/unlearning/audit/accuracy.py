# SPDX-License-Identifier: Apache-2.0
"""AD_f and AD_r: accuracy on the forgotten and on the retained classes (paper, Evaluation Metrics)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import Scorer, hits
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights


@dataclass(frozen=True, slots=True)
class ForgetRetain:
    """Accuracy, from 0 to 1, on the forgotten classes and on the others.

    Attributes:
        ad_f: None where there is no sample of the forgotten classes.
    """

    ad_f: float | None
    ad_r: float


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
        UnlearningError: one of the two sets has no sample of the classes, or none of any other.
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
) -> dict[str, ForgetRetain]:
    """AD_f and AD_r of every model on one set, which errors call `which`; otherwise as `audit_accuracy`."""
    forgotten: Tensor = torch.isin(samples.y, torch.tensor(sorted(classes), device=samples.y.device))
    if not bool(forgotten.any()) or bool(forgotten.all()):
        raise UnlearningError(
            f"the {which} data needs samples of the classes {sorted(classes)} and of others; "
            f"it has {samples.classes()}."
        )
    return {
        name: ForgetRetain(right[forgotten].mean().item(), right[~forgotten].mean().item())
        for name, right in scorer(architecture, models, samples).items()
    }
