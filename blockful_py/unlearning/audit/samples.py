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
"""Samples of each class in a proxy set."""


@dataclass(frozen=True, slots=True, eq=False)
class AuditSamples:
    """Samples for the metrics of an audit, at any level; each part is (m, ...).

    Attributes:
        forget_train: forgotten training samples of all users.
        forget_test: held-out samples of the classes in `forget_train`.
        retain_train: retained training samples of all users together.
        retain_test: held-out samples of the classes that models must still know.
        members: by model, training samples that the owner keeps.
        classes: classes forgotten as a whole; empty at the levels client and sample.
        never_seen: a larger set of held-out samples like `forget_test`, for the AUC; None means
            `forget_test`.
    """

    forget_train: Samples
    forget_test: Samples
    retain_train: Samples
    retain_test: Samples
    members: Mapping[str, Samples]
    classes: tuple[int, ...] = ()
    never_seen: Samples | None = None

    def __post_init__(self) -> None:
        for what in ("forget_train", "forget_test", "retain_train", "retain_test", "never_seen"):
            part = getattr(self, what)
            if part is not None and not len(part):
                raise UnlearningError(f"an audit needs samples in {what}; it has none.")


def audit_samples(task: UnlearningTask, data: Dataset) -> AuditSamples:
    """The samples of a request, at any level.

    If whole classes are forgotten, few test samples belong to them, so the AUC also uses the spare samples of
    these classes.  Clients and samples span many classes, so most of the test set serves their AUC.  If a
    model's owner keeps no samples, its members are all users' retained samples.

    Raises:
        UnlearningError: no held-out sample like the forgotten ones.
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
        classes=task.classes,
        never_seen=never_seen,
    )


def first_of_each(samples: Samples, classes: tuple[int, ...], count: int) -> Samples:
    """The first `count` samples of each class: (classes * count, ...), class after class.

    Raises UnlearningError: a class has fewer.
    """
    rows = {label: torch.nonzero(samples.y == label).flatten()[:count] for label in classes}
    short = [str(label) for label, indices in rows.items() if len(indices) < count]
    if short:
        raise UnlearningError(
            f"a proxy set needs {count} samples of every class; class {', '.join(short)} has fewer: "
            "keep more data out of training."
        )
    return samples.at(torch.cat(list(rows.values())))
