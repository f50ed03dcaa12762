# SPDX-License-Identifier: Apache-2.0
"""Candidates and selection of references (paper, eq. 1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """A candidate or reference with its accuracy, from 0 to 1, on the referencing user's test data.

    `accuracy`: None where it was not measured.
    """

    name: str
    accuracy: float | None


def draw_candidates(pool: Sequence[str], count: int, stream: torch.Generator) -> tuple[str, ...]:
    """Draws `count` names of the pool without replacement, or all names if it has fewer.

    Raises SettingsError: count is below 1.
    """
    if count < 1:
        raise SettingsError(f"candidates must be at least 1, not {count}.")
    order = torch.randperm(len(pool), generator=stream).tolist()
    return tuple(pool[i] for i in order[:count])


def score(
    architecture: Architecture, models: Mapping[str, Weights], names: Sequence[str], samples: Samples
) -> tuple[ScoredModel, ...]:
    """Accuracy of each named model on the user's own test samples: (AC_test, W*) of the paper's eq. 1.

    Args:
        models: state dicts, at least of the models in `names`.
        samples: n test samples; without any, no accuracy is measured.

    Raises LearningError: weights of another architecture.
    """
    if not len(samples):
        return tuple(ScoredModel(name, None) for name in names)
    scored = accuracies(architecture, {name: models[name] for name in names}, samples)
    return tuple(ScoredModel(name, scored[name]) for name in names)


def select(
    scored: Sequence[ScoredModel], count: int, forced: Collection[str] = ()
) -> tuple[ScoredModel, ...]:
    """Selects the `count` most accurate models, best first; ties and unmeasured models keep their order.

    Every scored model in `forced` is selected, in place of the least accurate other models.

    Raises SettingsError: count is below 1.
    """
    if count < 1:
        raise SettingsError(f"references must be at least 1, not {count}.")
    ranked = sorted(scored, key=lambda reference: -(reference.accuracy or 0.0))
    must = [reference for reference in ranked if reference.name in forced]
    free = [reference for reference in ranked if reference.name not in forced]
    chosen = must + free[: max(0, count - len(must))]
    return tuple(reference for reference in ranked if reference in chosen)
