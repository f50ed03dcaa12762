# SPDX-License-Identifier: Apache-2.0
"""Linear probe: the knowledge in the features, independent of the output layer."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from blockful_py.unlearning.audit.network import Floats, Observation

RIDGE = 1e-2


def probe_recall(shown: Observation, asked: Observation, classes: Collection[int]) -> float:
    """Share of the asked samples, from 0 to 1, classified correctly by ridge regression on frozen features.

    `min |T - 1 a - F B|^2 + RIDGE |B|^2` over the shown samples, T one-hot (n, classes), F the features (n,
    d); the answer is the class of the largest output.

    Args:
        shown: n labelled samples of all classes, few of each.
        asked: samples of the forgotten classes only.
        classes: the forgotten classes.
    """
    labels = np.union1d(shown.labels, sorted(classes))
    targets = (shown.labels[:, None] == labels).astype(np.float64)
    centre, middle = shown.features.mean(0), targets.mean(0)
    features = shown.features - centre
    # (F' F + RIDGE I) B = F' T
    normal = features.T @ features + RIDGE * np.eye(features.shape[1])
    weights: Floats = np.linalg.solve(normal, features.T @ (targets - middle))
    answers = labels[((asked.features - centre) @ weights + middle).argmax(1)]
    return float((answers == asked.labels).mean())
