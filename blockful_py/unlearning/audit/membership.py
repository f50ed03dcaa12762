# SPDX-License-Identifier: Apache-2.0
"""Membership inference without labels: separates training samples from samples that the model never saw."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logsumexp

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.network import Floats

RIDGE = 1e-3
STEPS = 50
CLIP = 30.0
"""Bound on the logit of the top probability; float32 logits are no more precise."""


def label_free_features(log_probs: Floats) -> Floats:
    """Logit of the top probability, difference of the two top probabilities, and entropy (nats).

    Takes log-probabilities, float64 (n, classes) with at least 2 classes; returns float64 (n, 3).
    """
    ranked = np.sort(log_probs, axis=1)[:, ::-1]
    logit = np.clip(ranked[:, 0] - logsumexp(ranked[:, 1:], axis=1), -CLIP, CLIP)
    probabilities = np.exp(log_probs)
    entropy = -(probabilities * log_probs).sum(1)
    margin = np.exp(ranked[:, 0]) - np.exp(ranked[:, 1])
    features: Floats = np.stack([logit, margin, entropy], axis=1)
    return features


def membership_rate(members: Floats, strangers: Floats, questioned: Floats) -> float:
    """Share of the questioned samples, from 0 to 1, that an attacker calls members.

    The attacker fits a logistic regression to members (1) against strangers (0), with half of the weight on
    either side: `min sum_i v_i log(1 + exp(-t_i (a + b z_i))) + (RIDGE / 2) |b|^2`, z standardised.

    Args:
        members, strangers, questioned: log-probabilities of the model, float64 (n, classes) each.

    Raises UnlearningError: one of the three is empty.
    """
    for what, values in (("member", members), ("stranger", strangers), ("questioned sample", questioned)):
        if not len(values):
            raise UnlearningError(f"membership inference needs at least one {what}.")
    known = label_free_features(np.concatenate([members, strangers]))
    centre, spread = known.mean(0), known.std(0) + 1e-12
    target = np.concatenate([np.ones(len(members)), np.zeros(len(strangers))])
    weight = np.where(target == 1, 0.5 / len(members), 0.5 / len(strangers))
    fitted = _logistic(_with_constant((known - centre) / spread), target, weight)
    asked = _with_constant((label_free_features(questioned) - centre) / spread)
    return float((asked @ fitted > 0).mean())


def _with_constant(features: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), features])


def _logistic(features: Floats, target: Floats, weight: Floats) -> Floats:
    """Fits by Newton's method with step halving; it converges because the objective is strictly convex."""
    penalty = RIDGE * np.diag([0.0] + [1.0] * (features.shape[1] - 1))
    fitted = np.zeros(features.shape[1])
    for _ in range(STEPS):
        probability = expit(features @ fitted)
        gradient = features.T @ (weight * (probability - target)) + penalty @ fitted
        curvature = (features.T * (weight * probability * (1 - probability))) @ features + penalty
        step = np.linalg.solve(curvature + 1e-12 * np.eye(len(fitted)), gradient)
        size, before = 1.0, _objective(features, target, weight, penalty, fitted)
        while size > 1e-6 and _objective(features, target, weight, penalty, fitted - size * step) > before:
            size /= 2
        fitted = fitted - size * step
        if np.abs(size * step).max() < 1e-9:
            break
    return fitted


def _objective(features: Floats, target: Floats, weight: Floats, penalty: Floats, at: Floats) -> float:
    score = features @ at
    return float((weight * (np.logaddexp(0, score) - target * score)).sum() + at @ penalty @ at / 2)
