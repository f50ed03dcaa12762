# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from blockful_py.unlearning.audit.network import Floats, Observation
from blockful_py.unlearning.audit.probe import probe_recall


def seen(features: Floats, labels: list[int]) -> Observation:
    """The head says class 0 of everything: the probe must not ask it."""
    log_probs = np.tile(np.log([0.98, 0.01, 0.01]), (len(labels), 1))
    return Observation(log_probs, features, np.array(labels))


def clusters(labels: list[int], spread: float, seed: int) -> Floats:
    centres = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    return centres[labels] + spread * np.random.default_rng(seed).normal(size=(len(labels), 3))


LABELS = [0, 1, 2] * 10


def test_features_that_tell_the_class_apart_are_found_whatever_the_head_says() -> None:
    shown = seen(clusters(LABELS, 0.05, 1), LABELS)
    assert probe_recall(shown, seen(clusters([2] * 20, 0.05, 2), [2] * 20), (2,)) == 1.0


def test_features_in_which_the_class_is_another_are_found_out() -> None:
    """No sample is recalled when samples of class 2 lie in the place of class 1."""
    shown = seen(clusters(LABELS, 0.05, 1), LABELS)
    assert probe_recall(shown, seen(clusters([1] * 20, 0.05, 2), [2] * 20), (2,)) == 0.0


def test_constant_features_know_nothing() -> None:
    shown = seen(np.ones((30, 3)), LABELS)
    assert probe_recall(shown, seen(np.ones((6, 3)), [2] * 6), (2,)) == 0.0
