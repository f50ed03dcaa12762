# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.errors import UnlearningError
from blockful_py.learning.evaluation import accuracy
from blockful_py.unlearning.audit import audit_accuracy
from tests.unlearning.conftest import UnlearningCase


def test_the_two_accuracies_are_those_of_the_two_sets(few: UnlearningCase) -> None:
    task, data = few.task, few.dataset
    weights = task.models["r5"].weights
    row = audit_accuracy(task.architecture, {"r5": weights}, data.train, data.test, (3, 8))["r5"]
    for found, samples in ((row.train, data.train), (row.test, data.test)):
        assert found.ad_f == pytest.approx(accuracy(task.architecture, weights, samples.only((3, 8))))
        assert found.ad_r == pytest.approx(accuracy(task.architecture, weights, samples.without((3, 8))))


def test_there_must_be_samples_to_measure_on(few: UnlearningCase) -> None:
    task, data = few.task, few.dataset
    models = task.weights(["r5"])
    for test in (data.test.only((3,)), data.test.without((3,))):
        with pytest.raises(UnlearningError, match="the test data needs samples"):
            audit_accuracy(task.architecture, models, data.train, test, (3,))
