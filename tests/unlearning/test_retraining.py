# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.weights import equal, flatten
from blockful_py.unlearning.retraining import aggregate_of, passes_of, retrain_model, retrain_wave
from tests.unlearning.conftest import UnlearningCase


def test_a_wave_is_what_each_learns_alone(tiny: UnlearningCase) -> None:
    updated = {"a": tiny.task.models["d"].weights}
    wave = retrain_wave(tiny.task, ("b", "c"), updated)
    assert list(wave) == ["b", "c"]
    for name, weights in wave.items():
        alone = retrain_model(tiny.task, name, updated)
        assert flatten(weights) == pytest.approx(flatten(alone), abs=1e-4)
        assert abs(flatten(weights) - flatten(retrain_model(tiny.task, name, {}))).max() > 1e-2


def test_another_purpose_shuffles_otherwise(tiny: UnlearningCase) -> None:
    (again,) = retrain_wave(tiny.task, ("b",), {}).values()
    (clean,) = retrain_wave(tiny.task, ("b",), {}, "clean").values()
    assert not equal(again, clean)


def test_a_client_that_keeps_nothing_leaves_the_aggregate(tiny: UnlearningCase) -> None:
    task = replace(tiny.task, forget=Forget.of_clients([2]))
    wave = retrain_wave(task, ("b", "c"), {})
    assert equal(wave["b"], aggregate_of(task, "b", {}))
    assert not equal(wave["c"], aggregate_of(task, "c", {}))
    assert passes_of(task, "b") == 0 < passes_of(task, "c")
