# SPDX-License-Identifier: Apache-2.0
"""The AUC's held-out samples: the test set's and the spare ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples
from blockful_py.unlearning.audit import audit_samples, prepare
from blockful_py.unlearning.audit.auditing import samples_digest
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.network import observe
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.audit.conftest import FORGET, request_to


@pytest.fixture(scope="module")
def with_spare(dataset: Dataset) -> Dataset:
    """Half of the test set is spare."""
    half = torch.arange(len(dataset.test)) % 2 == 0
    return replace(dataset, test=dataset.test.at(half), spare=dataset.test.at(~half))


def test_the_auc_of_a_class_reads_test_and_spare_samples_and_nothing_else_does(
    task: UnlearningTask, with_spare: Dataset
) -> None:
    samples = audit_samples(task, with_spare)
    assert samples.never_seen is not None and with_spare.spare is not None
    assert samples.never_seen.classes() == (FORGET,)
    both = len(with_spare.test.only([FORGET])) + len(with_spare.spare.only([FORGET]))
    assert len(samples.never_seen) == both > len(samples.forget_test)
    without = replace(samples, never_seen=None)
    rows = [prepare(task, each).measure("original", {}) for each in (samples, without)]
    for more, fewer in zip(rows[0].models, rows[1].models, strict=True):
        module = task.architecture.module(task.models[more.model].weights, samples.never_seen.x.device)
        members, strangers = (
            observe(module, task.architecture.class_count, part).truth()
            for part in (samples.forget_train, samples.never_seen)
        )
        assert more.auc == auc(members, strangers) != fewer.auc
        assert replace(more, auc=fewer.auc) == fewer
    assert samples_digest(samples) != samples_digest(without)


def test_a_client_is_compared_with_the_test_set(dataset: Dataset, with_spare: Dataset) -> None:
    task = request_to(dataset, Forget.of_clients([3]), ("r3",))
    assert audit_samples(task, with_spare).never_seen is None


def test_spare_samples_of_no_number_are_refused(task: UnlearningTask, dataset: Dataset) -> None:
    samples = audit_samples(task, dataset)
    assert samples.never_seen is None
    none: Samples = samples.forget_test.only(())
    with pytest.raises(UnlearningError, match="needs samples in never_seen"):
        replace(samples, never_seen=none)
