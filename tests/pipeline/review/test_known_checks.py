# SPDX-License-Identifier: Apache-2.0
"""A member does a spot check once for the same inputs, and again for any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch

from blockful_py.errors import LearningError, StorageError
from blockful_py.forget import Forget
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.pipeline.review.known_checks import KnownChecks
from blockful_py.record.training_trace import Trace
from blockful_py.settings import FederationSettings
from tests.learning.test_spot_check import Owner

INTERVALS = (0,)


@pytest.fixture
def owner() -> Owner:
    digits = load_dataset("digits", 0, torch.device("cpu"))
    users = partition(digits, Division(FederationSettings(), (5, 7), (3,)), 0)
    return Owner(Architecture("cnn", digits.input_shape, digits.class_count), users[4])


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Exception | None]:
    """The outcomes of the next checks; each check takes one."""
    outcomes: list[Exception | None] = []

    def check(*_: Any) -> None:
        if (outcome := outcomes.pop()) is not None:
            raise outcome

    monkeypatch.setattr("blockful_py.pipeline.review.known_checks.check_disclosure", check)
    return outcomes


def test_each_check_is_done_once_and_each_other_one_again(owner: Owner, done: list[Exception | None]) -> None:
    kept = owner.kept()
    result = owner.train(kept)
    claim, shown = owner.claim(result), owner.disclosure(kept, (0,))
    trace, known = cast(Trace, owner.trace(kept)), KnownChecks()
    others = (
        (replace(claim, forgets=(Forget.of_classes([4]),)), shown, INTERVALS),
        (replace(claim, seed=8), shown, INTERVALS),
        (replace(claim, start=result), shown, INTERVALS),
        (replace(claim, result=claim.start), shown, INTERVALS),
        (claim, owner.disclosure(kept, (1,)), INTERVALS),
        (claim, shown, (0, 1)),
    )
    for _claim, _shown, intervals in ((claim, shown, INTERVALS), *others):
        done.append(None)
        for _ in range(2):
            known.check(_claim, _shown, trace, intervals)
        assert not done


def test_a_fault_is_remembered_and_a_failure_to_check_is_not(
    owner: Owner, done: list[Exception | None]
) -> None:
    kept = owner.kept()
    result = owner.train(kept)
    claim, shown = owner.claim(result), owner.disclosure(kept, (0,))
    trace, known = cast(Trace, owner.trace(kept)), KnownChecks()
    done += [LearningError("interval 0 does not lead there"), StorageError("away")]
    with pytest.raises(StorageError, match="away"):
        known.check(claim, shown, trace, INTERVALS)
    for _ in range(2):
        with pytest.raises(LearningError, match="interval 0 does not lead there"):
            known.check(claim, shown, trace, INTERVALS)
    assert not done
