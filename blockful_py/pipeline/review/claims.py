# SPDX-License-Identifier: Apache-2.0
"""Figures that an update claims and members measure again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import pooled
from blockful_py.learning.evaluation import accuracies, hits
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.record.statement_parts import Claimed
from blockful_py.unlearning.audit import ForgetRetain, ModelAccuracy, forget_retain
from blockful_py.unlearning.audit.accuracy import retained
from blockful_py.unlearning.audit.recognition import logit_auc

AUC_DIGITS = 4
"""Decimals of a claimed AUC."""
AUC_TOLERANCE = 0.001
"""Largest difference between a claimed AUC and a member's own.

Processors that round otherwise may rank samples otherwise whose logits are almost equal.  Predictions, and so
AD_f and AD_r, are compared exactly.
"""


def measure_all(
    setup: TrainingSetup,
    models: Mapping[str, Weights],
    forget: Forget,
    left_out: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> dict[str, ModelAccuracy]:
    """AD_f and AD_r of models on all users' training data and on the held-out test data.

    Held-out data has no samples of clients; there AD_f is measured on the classes of the client's samples
    that the test data has.

    `left_out`: as for `measure`.
    Raises LearningError if only a trainer can access the users' samples.
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
    if not (len(kept) and len(others)):
        raise LearningError(
            "nothing would be left to measure: leave at least one class that is not forgotten."
        )
    of_gone = accuracies(architecture, models, gone)
    of_like = accuracies(architecture, models, like) if len(like) else {}
    of_kept, of_others = (hits(architecture, models, each) for each in (kept, others))
    measured = {}
    for name in models:
        removed = left_out.get(name, ())
        train, held_out = (retained(each.y, (), removed) for each in (kept, others))
        measured[name] = ModelAccuracy(
            train=ForgetRetain.of(of_gone[name], of_kept[name], kept.y, train),
            test=ForgetRetain.of(of_like.get(name), of_others[name], others.y, held_out),
        )
    return measured


def measure(
    setup: TrainingSetup,
    models: Mapping[str, Weights],
    classes: Sequence[int],
    left_out: Mapping[str, Collection[int]] = MappingProxyType({}),
    before: Mapping[str, Weights] = MappingProxyType({}),
) -> dict[str, Claimed]:
    """The claims of models, by name: figures on the held-out test data, which is public.

    AD_f and AUC are None if that data has no sample of the classes.  A model's claims do not depend on the
    other models measured in the same call.

    `left_out`: by model, classes that earlier requests removed; AD_r is measured without them unless no other
    class remains.  `before`: by model, weights of the version to be replaced, measured for comparison.
    """
    now, earlier = (_measured(setup, each, classes, left_out) for each in (models, before))
    return {
        name: Claimed(
            ad_f=each.ad_f,
            ad_r=each.ad_r,
            chance=each.chance,
            before=earlier[name].ad_r if name in earlier else None,
            samples=each.samples if name in earlier else None,
            logit_auc=_auc(setup, models[name], classes, left_out.get(name, ())),
            ad_f_before=earlier[name].ad_f if name in earlier else None,
            logit_auc_before=_auc(setup, before[name], classes, left_out.get(name, ()))
            if name in earlier
            else None,
        )
        for name, each in now.items()
    }


def agree(claimed: Claimed | None, measured: Claimed) -> bool:
    """Whether claims equal a member's own measurement; AUCs may differ by AUC_TOLERANCE."""
    if claimed is None:
        return False
    aucs = ("logit_auc", "logit_auc_before")
    pairs = [(getattr(claimed, name), getattr(measured, name)) for name in aucs]
    near = all(
        said is own or (None not in (said, own) and abs(said - own) <= AUC_TOLERANCE) for said, own in pairs
    )
    return near and claimed == measured.model_copy(update={name: getattr(claimed, name) for name in aucs})


def _auc(
    setup: TrainingSetup, weights: Weights, classes: Sequence[int], left_out: Collection[int]
) -> float | None:
    found = logit_auc(setup.architecture, weights, setup.dataset.test, classes, left_out)
    return None if found is None else round(found, AUC_DIGITS)


def _measured(
    setup: TrainingSetup,
    models: Mapping[str, Weights],
    classes: Sequence[int],
    left_out: Mapping[str, Collection[int]],
) -> dict[str, ForgetRetain]:
    architecture, test = setup.architecture, setup.dataset.test
    if len(test.only(classes)):
        return forget_retain(architecture, models, test, classes, "test", setup.scorer, left_out)
    return {
        name: ForgetRetain.of(None, right, test.y, retained(test.y, (), left_out.get(name, ())))
        for name, right in setup.scorer(architecture, models, test).items()
    }
