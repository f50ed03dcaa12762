# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from blockful_py.errors import LearningError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.metrics import (
    Predictions,
    calibration_error,
    confusion,
    per_class_accuracy,
    quality,
    reliability,
)
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.settings import TrainingSettings

CLASSES = 4
triples = st.lists(
    st.tuples(st.integers(0, CLASSES - 1), st.integers(0, CLASSES - 1), st.floats(0.25, 1, width=32)),
    min_size=1,
    max_size=60,
)


def made_of(rows: list[tuple[int, int, float]]) -> Predictions:
    labels, truth, confidence = zip(*rows, strict=True)
    return Predictions(
        torch.tensor(labels), torch.tensor(confidence, dtype=torch.float32), torch.tensor(truth), CLASSES
    )


@given(triples)
def test_confusion_and_recall_are_those_of_scikit_learn(rows: list[tuple[int, int, float]]) -> None:
    from sklearn import metrics as sklearn_metrics  # takes much memory

    made = made_of(rows)
    expected = sklearn_metrics.confusion_matrix(made.truth, made.labels, labels=range(CLASSES))
    cells = [(i, j, int(count)) for (i, j), count in np.ndenumerate(expected) if count]
    assert list(confusion(made)) == cells
    recall = sklearn_metrics.recall_score(
        made.truth, made.labels, labels=range(CLASSES), average=None, zero_division=0
    )
    present = set(made.truth.tolist())
    for label, share in enumerate(per_class_accuracy(made)):
        assert (share is None) == (label not in present)
        assert share is None or share == pytest.approx(recall[label])


@given(triples)
def test_the_calibration_error_is_its_definition(rows: list[tuple[int, int, float]]) -> None:
    made, bins = made_of(rows), 15
    total = 0.0
    for b in range(bins):
        inside = [row for row in rows if b / bins < row[2] <= (b + 1) / bins]
        total += abs(sum((label == truth) - confidence for label, truth, confidence in inside))
    assert calibration_error(made, bins) == pytest.approx(total / len(rows), abs=1e-6)
    shown = reliability(made, bins)
    assert sum(each.samples for each in shown) == len(rows)
    gaps = [each.samples * abs((each.accuracy or 0) - (each.confidence or 0)) for each in shown]
    assert sum(gaps) / len(rows) == pytest.approx(total / len(rows), abs=1e-6)
    assert all((each.accuracy is None) == (each.confidence is None) == (not each.samples) for each in shown)


def test_a_model_that_is_right_as_often_as_it_says_is_calibrated() -> None:
    rows = [(0, 0, 0.75)] * 3 + [(0, 1, 0.75)]
    assert calibration_error(made_of(rows)) == pytest.approx(0)
    assert calibration_error(made_of([(0, 1, 1.0)])) == pytest.approx(1)


def test_the_figures_of_a_model_agree(cnn: Architecture, digits: Dataset) -> None:
    weights = train(cnn, cnn.initial(generator(0)), digits.train, TrainingSettings(epochs=2), generator(0))
    found = quality(cnn, weights, digits.test)
    assert found.accuracy == accuracy(cnn, weights, digits.test) > 0.8
    assert sum(samples for _, _, samples in found.confusion) == len(digits.test)
    right = sum(samples for truth, predicted, samples in found.confusion if truth == predicted)
    assert right / len(digits.test) == pytest.approx(found.accuracy)
    assert 0 <= found.calibration_error < 0.2
    unseen = quality(cnn, weights, digits.test.without((3,)))
    assert unseen.per_class[3] is None and unseen.per_class[4] == found.per_class[4]


class Largest(TorchDispatchMode):
    """Notes the bytes of the largest tensor that an operation gives."""

    size = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, torch.Tensor):
                self.size = max(self.size, each.numel() * each.element_size())
        return result


def test_the_figures_of_thousands_of_classes_take_a_few_megabytes() -> None:
    classes, count = 12_000, 1_000
    many = Architecture("cnn", (1, 8, 8), classes)
    weights = many.initial(generator(0))
    x, y = torch.rand(count, 1, 8, 8, generator=generator(1)), torch.arange(count) * 12
    with Largest() as largest:
        found = quality(many, weights, Samples(x, y))
    assert largest.size < 16 << 20
    assert sum(samples for _, _, samples in found.confusion) == count >= len(found.confusion)
    assert len(found.per_class) == classes and found.per_class[1] is None and found.per_class[12] is not None
    with Largest() as largest:
        assert accuracy(many, weights, Samples(x, y)) == found.accuracy
    assert largest.size < 16 << 20


def test_no_samples_are_refused(cnn: Architecture, digits: Dataset) -> None:
    with pytest.raises(LearningError, match="at least one sample"):
        quality(cnn, cnn.initial(generator(0)), digits.test.only((99,)))
