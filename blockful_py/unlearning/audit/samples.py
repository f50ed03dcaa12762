# SPDX-License-Identifier: Apache-2.0
"""The samples of an audit: the forget set, similar held-out samples, and retained samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Dataset, Samples, pooled
from blockful_py.unlearning.task import UnlearningTask

SHOWN = 10
"""Samples of a class that the probe is trained on."""


@dataclass(frozen=True, slots=True, eq=False)
class AuditSamples:
    """Samples that the metrics of an audit read, at any level; each part is (m, ...).

    Attributes:
        forget_train: forgotten training samples of all users.
        forget_test: held-out samples of the classes that `forget_train` has.
        retain_train: training samples that users keep, all together.
        retain_test: held-out samples of the classes that models must still know.
        members: training samples that the owner keeps, by model.
        shown: samples in no user's data and in no test, for the probe: 10 of each class, the forgotten
            ones too; None where no whole class is forgotten.
        classes: the classes that are forgotten as a whole; none at the levels of client and sample.
        never_seen: held-out samples like `forget_test`, and more of them, for the AUC; `forget_test` itself
            where None.
    """

    forget_train: Samples
    forget_test: Samples
    retain_train: Samples
    retain_test: Samples
    members: Mapping[str, Samples]
    shown: Samples | None = None
    classes: tuple[int, ...] = ()
    never_seen: Samples | None = None

    def __post_init__(self) -> None:
        for what in ("forget_train", "forget_test", "retain_train", "retain_test", "never_seen"):
            part = getattr(self, what)
            if part is not None and not len(part):
                raise UnlearningError(f"an audit needs samples in {what}; there are none.")
        if self.classes and self.shown is None:
            raise UnlearningError("an audit at class level needs samples to train its probe on (shown).")


def audit_samples(task: UnlearningTask, data: Dataset) -> AuditSamples:
    """The samples of a request, at any level.

    Where whole classes are forgotten, few of the test set are like them: the AUC also reads the spare samples
    of these classes.  Clients and samples have many classes, and most of the test set beside them.  The
    members of a model whose owner keeps no samples are those of all users.

    Raises:
        UnlearningError: no held-out sample like the forgotten ones, or too few proxy samples for the probe.
    """
    forget_train, retain_train = task.forget_set(), task.retain_set()
    gone = {label for forget in task.all_forgets for label in forget.classes}
    kept = {name: task.retained(name) for name in task.affected()}
    never_seen = None
    if task.classes and data.spare is not None:
        never_seen = pooled(part.only(task.classes) for part in (data.test, data.spare))
    return AuditSamples(
        forget_train=forget_train,
        forget_test=data.test.only(forget_train.classes()),
        retain_train=retain_train,
        retain_test=data.test.without(sorted(gone)),
        members={name: own if len(own) else retain_train for name, own in kept.items()},
        shown=first_of_each(data.proxy, data.train.classes(), SHOWN) if task.classes else None,
        classes=task.classes,
        never_seen=never_seen,
    )


def first_of_each(samples: Samples, classes: tuple[int, ...], count: int) -> Samples:
    """The first `count` samples of each class: (classes * count, ...), class after class.

    Raises:
        UnlearningError: a class has fewer.
    """
    rows = {label: torch.nonzero(samples.y == label).flatten()[:count] for label in classes}
    short = [str(label) for label, indices in rows.items() if len(indices) < count]
    if short:
        raise UnlearningError(
            f"the probe needs {count} proxy samples of every class; class {', '.join(short)} has fewer: "
            "keep more data out of training."
        )
    return samples.at(torch.cat(list(rows.values())))
