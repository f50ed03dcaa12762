# SPDX-License-Identifier: Apache-2.0
"""Membership inference on the samples of a request, by the models of a run."""

from __future__ import annotations

from collections.abc import Mapping

from blockful_py.forget import Forget, Level
from blockful_py.learning.data import pooled
from blockful_py.learning.forget_sets import forget_set
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.recognition import recognition


def membership(
    setup: TrainingSetup, models: Mapping[str, Weights], forget: Forget
) -> dict[str, float | None]:
    """AUC with which each model tells forgotten training samples from held-out ones of their classes.

    None if whole classes are forgotten: then AD_f shows it, and the held-out samples are to be forgotten too.
    Raises LearningError.
    """
    if forget.level is Level.CLASS:
        return dict.fromkeys(models)
    gone = pooled(forget_set(forget, user) for user in setup.users)
    return recognition(setup.architecture, models, gone, setup.dataset.test.only(gone.classes()))
