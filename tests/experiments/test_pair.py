# SPDX-License-Identifier: Apache-2.0
"""The attacks on a replaced and a new version find differences only if there are some."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import pair, pair_attacks
from blockful_py.forget import Forget
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.references import GOLD2_SHIFT, GOLD_SHIFT, retrained_graph
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.audit.conftest import request_to

START, COUNT = "r5", 8


class Case:
    """A request to forget samples of user 5, and two models that were retrained without them."""

    def __init__(self) -> None:
        dataset = load_dataset("digits", 0, torch.device("cpu"))
        self.task: UnlearningTask = request_to(
            dataset, Forget.of_samples((pair.OWNER, row) for row in range(COUNT)), (START,)
        )
        self.gone = self.task.forget_set()
        self.strangers = dataset.test.at(torch.arange(150))
        self.gold, self.gold2 = (
            retrained_graph(self.task, shift)[START] for shift in (GOLD_SHIFT, GOLD2_SHIFT)
        )

    def single(self, row: int) -> Samples:
        return self.gone.at(torch.tensor([row]))

    def knowing(self, row: int) -> Weights:
        """gold after a step on one of the samples."""
        return pair.after_a_step(self.task.architecture, self.gold, self.single(row))

    def ranks(self, pairs: list[tuple[Weights, Weights]]) -> float:
        labels = self.gone.y[:, None]
        made = pair_attacks.reconstruct(
            self.task.architecture, pairs, labels, (-0.3, 0.7), torch.Generator().manual_seed(0), steps=60
        )
        found = [
            pair_attacks.likeness_ranks(made[row], labels[row], self.single(row), self.strangers)
            for row in range(COUNT)
        ]
        return float(np.mean(found))


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


@pytest.mark.slow
def test_a_step_on_a_sample_is_found_out_and_drawn(case: Case) -> None:
    olds = [case.knowing(row) for row in range(COUNT)]
    architecture = case.task.architecture
    told = []
    for row, old in enumerate(olds):
        own, rest = (
            pair_attacks.alignment(architecture, old, case.gold, samples)
            for samples in (case.single(row), case.strangers)
        )
        assert own[0] == pytest.approx(1, abs=1e-3)
        told.append(auc(own, rest))
    assert np.mean(told) > 0.98
    assert case.ranks([(old, case.gold) for old in olds]) > 0.8


def test_two_models_that_never_knew_tell_nothing(case: Case) -> None:
    own, rest = (
        pair_attacks.alignment(case.task.architecture, case.gold2, case.gold, samples)
        for samples in (case.gone, case.strangers)
    )
    assert 0.25 < auc(own, rest) < 0.75
    assert 0.25 < case.ranks([(case.gold2, case.gold)] * COUNT) < 0.75


def test_margins_of_both_versions_tell_groups_apart_that_one_version_does_not() -> None:
    stream = np.random.default_rng(0)
    common = stream.normal(0, 3, 4000)
    both = np.stack([common, common], 1) + stream.normal(0, 0.3, (4000, 2))
    both[:2000, 1] -= 1.5  # forgotten: a lower margin in the new version
    gone, kept = both[:2000], both[2000:]
    scores = [pair_attacks.likelihood_ratio(gone[:1000], kept[:1000], part[1000:]) for part in (gone, kept)]
    assert auc(*scores) > 0.99
    assert abs(auc(gone[:, 0], kept[:, 0]) - 0.5) < 0.05
    assert auc(-gone[:, 1], -kept[:, 1]) < 0.7


def test_true_positives_are_those_beyond_the_threshold() -> None:
    below = np.arange(100.0)
    assert pair_attacks.true_positives(np.array([97.5, 98.5, 99.5, 200]), below) == 0.75
    assert pair_attacks.true_positives(np.array([98.5, 99.5]), below[:50]) == 1
    assert pair_attacks.true_positives(np.array([49.0, 48]), below[:50]) == 0


def test_the_likest_reconstruction_of_a_class_counts() -> None:
    stream = torch.Generator().manual_seed(0)
    x = torch.rand((21, 1, 8, 8), generator=stream)
    truth, held_out = Samples(x[:1], torch.tensor([4])), Samples(x[1:], torch.full((20,), 4))
    made = torch.stack([x[1], x[0]])
    assert pair_attacks.likeness_ranks(made, torch.tensor([4, 4]), truth, held_out)[0] >= 0.95
    assert pair_attacks.likeness_ranks(made, torch.tensor([4, 5]), truth, held_out)[0] < 0.95


def test_no_two_requests_of_a_seed_share_a_sample(case: Case) -> None:
    rows = [row for request in pair.requests(case.task) for row in request.rows]
    assert len(rows) == len(set(rows)) == sum(pair.SIZES)
