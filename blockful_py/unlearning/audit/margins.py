# SPDX-License-Identifier: Apache-2.0
"""Margins by model and example: the input of attacks with shadow models."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.network import Floats, observe

LEAST_MODELS = 4
"""Minimum number of models of each kind: two to fit a variance, and two to decide on."""


def margins(logits: ArrayLike, labels: ArrayLike) -> Floats:
    """Logit-scaled confidence in the true label y, `log p_y - log(1 - p_y)` (Carlini et al. 2022).

    Args:
        logits: logits or log-probabilities of one model on n examples, (n, classes), at least 2 classes.
        labels: true labels, (n,), whole numbers from 0.

    Returns float64 (n,).

    Raises UnlearningError: shapes that do not fit, or a logit that is not finite.
    """
    said, asked = np.asarray(logits, dtype=np.float64), np.asarray(labels)
    if said.ndim != 2 or said.shape[1] < 2 or asked.shape != said.shape[:1]:
        raise UnlearningError(
            f"margins need logits (n, classes), at least 2 classes, and labels (n,), not {said.shape} and "
            f"{asked.shape}."
        )
    if not np.isfinite(said).all():
        raise UnlearningError("a logit is not finite: leave out models whose training diverged.")
    others: NDArray[np.bool_] = np.arange(said.shape[1]) != asked[:, None]
    rest = logsumexp(np.where(others, said, -np.inf), axis=1)
    found: Floats = said[np.arange(len(said)), asked] - rest
    return found


def margins_of(architecture: Architecture, weights: Weights, samples: Samples) -> Floats:
    """Margins of one model on n samples, float64 (n,).  Raises as `observe` and `margins`."""
    module = architecture.module(weights, samples.x.device)
    seen = observe(module, architecture.class_count, samples)
    return margins(seen.log_probs, seen.labels)


def require_shadows(unlearned: ArrayLike, never_knew: ArrayLike) -> tuple[Floats, Floats]:
    """Converts both to float64 (S, n): margins of S models on the same n examples.

    Raises UnlearningError: other shapes, fewer than 4 models of a kind, or a margin that is not finite.
    """
    known, strange = np.asarray(unlearned, dtype=np.float64), np.asarray(never_knew, dtype=np.float64)
    if known.ndim != 2 or known.shape != strange.shape or len(known) < LEAST_MODELS or not known.shape[1]:
        raise UnlearningError(
            f"an attack needs margins (S, n) of S models that unlearned and of S that never knew, S at least "
            f"{LEAST_MODELS}, on the same n examples, not {known.shape} and {strange.shape}."
        )
    if not (np.isfinite(known).all() and np.isfinite(strange).all()):
        raise UnlearningError("a margin is not finite: leave out models whose training diverged.")
    return known, strange
