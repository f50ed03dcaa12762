# SPDX-License-Identifier: Apache-2.0
"""Accuracies that an update claims and members measure again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import pooled
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.record.model_node import Claimed
from blockful_py.unlearning.audit import ForgetRetain, ModelAccuracy, audit_accuracy


def measure_all(
    setup: TrainingSetup, models: Mapping[str, Weights], forget: Forget
) -> dict[str, ModelAccuracy]:
    """AD_f and AD_r of models on all users' training data and on the held-out test data.

    Held-out data has no samples of clients; there AD_f is measured on the classes of the client's samples.

    Raises LearningError where only a trainer reaches the users' samples.
    """
    if setup.federation.trainer is not None:
        raise LearningError(
            "a report measures on users' samples, which only learning.trainer reaches: call "
            "Federation.unlearn or BlockfulStrategy.unlearn in Python, which need no report."
        )
    architecture, test = setup.architecture, setup.dataset.test
    gone = pooled(forget_set(forget, user) for user in setup.users)
    kept = pooled(retain_set(forget, user) for user in setup.users)
    like = test.only(gone.classes())
    return {
        name: ModelAccuracy(
            train=ForgetRetain(accuracy(architecture, weights, gone), accuracy(architecture, weights, kept)),
            test=ForgetRetain(
                accuracy(architecture, weights, like),
                accuracy(architecture, weights, test.without(forget.classes)),
            ),
        )
        for name, weights in models.items()
    }


def measure(setup: TrainingSetup, weights: Weights, classes: Sequence[int]) -> Claimed:
    """The claims of one model: its accuracies on the held-out test data, which is public."""
    test = setup.dataset.test
    if not classes:
        return Claimed(ad_f=None, ad_r=accuracy(setup.architecture, weights, test))
    measured = audit_accuracy(setup.architecture, {"": weights}, test, test, classes)[""].test
    return Claimed(ad_f=measured.ad_f, ad_r=measured.ad_r)
