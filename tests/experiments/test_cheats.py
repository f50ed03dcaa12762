# SPDX-License-Identifier: Apache-2.0
"""The audit finds dishonest methods out, on a federation of five users that all hold the class."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from blockful_lab.experiments.cheats import Rescaled
from blockful_lab.experiments.variants import CHEATS, Variant, variants
from blockful_py.errors import SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.datasets import load_dataset
from blockful_py.unlearning.audit import Bench, audit, audit_samples, prepare
from blockful_py.unlearning.audit.exactness import is_exact
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.references import HEAD_MASK
from tests.unlearning.audit.conftest import FORGET, request_to

FOUND_OUT = {
    "Rescaled": "relearn closed",
    "Noisy": "relearn closed",
    "Pruned": "relearn closed",
    "Quantised": "relearn closed",
    "Silenced": "divergence",
    "Blended": "auc",
    "Mimic": "auc",
}
"""A requirement that each fails, at both strengths."""


QUICK = (0, len(CHEATS) - 1)


@pytest.fixture(scope="module")
def bench() -> Bench:
    digits = load_dataset("digits", 0, torch.device("cpu"))
    task = request_to(digits, Forget.of_classes([FORGET]))
    return prepare(task, audit_samples(task, digits))


@pytest.fixture(scope="module")
def references(bench: Bench) -> Sequence[Row]:
    return bench.references()


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(cheat, id=cheat.name, marks=[pytest.mark.slow] * (i not in QUICK))
        for i, cheat in enumerate(CHEATS)
    ],
)
def test_a_cheat_is_found_out(bench: Bench, references: Sequence[Row], cheat: Variant) -> None:
    outcome = audit(bench, cheat.name, cheat.created().unlearn(bench.task).weights, references)
    assert all(model.ad_f_test == model.ad_f_train == 0 for model in outcome.row.models)
    failed = {one.name for one in outcome.verdict().forgetting if not one.passed}
    assert FOUND_OUT[cheat.method.partition(":")[2]] in failed


def test_a_rescaled_mask_says_the_same_as_a_plain_one(bench: Bench, references: Sequence[Row]) -> None:
    (masked,) = (row for row in references if row.method == HEAD_MASK)
    rescaled = bench.measure("rescaled", Rescaled(0.3).unlearn(bench.task).weights)
    for plain, other in zip(masked.models, rescaled.models, strict=True):
        assert (other.membership, other.auc) == pytest.approx((plain.membership, plain.auc), abs=0.01)
        assert other.distance > 2 * plain.distance


def test_a_cheat_is_not_exact(bench: Bench) -> None:
    assert not is_exact(bench.task, Rescaled())


def test_cheats_are_tried_when_they_are_named() -> None:
    assert variants(["cheats"]) == CHEATS
    assert not any(each in CHEATS for each in variants())
    assert [each.name for each in variants([CHEATS[0].name, "retrain"])] == ["retrain", CHEATS[0].name]


def test_a_method_of_ones_own_is_audited_by_its_path() -> None:
    (own,) = variants([f"{Rescaled.__module__}:{Rescaled.__name__}"])
    assert isinstance(own.created(), Rescaled) and own.levels == Rescaled.levels
    with pytest.raises(SettingsError, match=r"no method 'mine'.*Known: cheats, .*package\.module:Class"):
        variants(["mine"])
