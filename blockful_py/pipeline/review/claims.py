# SPDX-License-Identifier: Apache-2.0
"""Accuracies that an update claims and members measure again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import pooled
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.record.model_node import Claimed
from blockful_py.unlearning.audit import ForgetRetain, ModelAccuracy, forget_retain


def measure_all(
    setup: TrainingSetup, models: Mapping[str, Weights], forget: Forget
) -> dict[str, ModelAccuracy]:
    """AD_f and AD_r of models on all users' training data and on the held-out test data.

    Held-out data has no samples of clients; there AD_f is measured on the classes of the client's samples, as
    far as the test data has them.

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
    like, others = test.only(gone.classes()), test.without(forget.classes)
    of_gone, of_kept, of_others = (accuracies(architecture, models, each) for each in (gone, kept, others))
    of_like = accuracies(architecture, models, like) if len(like) else {}
    return {
        name: ModelAccuracy(
            train=ForgetRetain(of_gone[name], of_kept[name]),
            test=ForgetRetain(of_like.get(name), of_others[name]),
        )
        for name in models
    }


def measure(
    setup: TrainingSetup, models: Mapping[str, Weights], classes: Sequence[int]
) -> dict[str, Claimed]:
    """The claims of models, by name: accuracies on the held-out test data, which is public.

    There is no AD_f where that has no sample of the classes.  A model's claims do not depend on the models
    that are measured with it.
    """
    architecture, test = setup.architecture, setup.dataset.test
    if not len(test.only(classes)):
        scored = setup.scorer(architecture, models, test)
        return {name: Claimed(ad_f=None, ad_r=right.mean().item()) for name, right in scored.items()}
    measured = forget_retain(architecture, models, test, classes, "test", setup.scorer)
    return {name: Claimed(ad_f=each.ad_f, ad_r=each.ad_r) for name, each in measured.items()}
