# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.klom import above_floor, divergences, klom


def test_the_same_margins_do_not_diverge() -> None:
    same = np.random.default_rng(0).normal(size=(30, 4))
    assert divergences(same, same) == pytest.approx(np.zeros(4))
    assert divergences(np.ones((5, 1)), np.ones((5, 1))) == pytest.approx([0.0])


def test_disjoint_margins_diverge_as_far_as_the_floor_of_a_bin_lets_them() -> None:
    known, strange = np.full((10, 1), 9.0), np.full((10, 1), -9.0)
    assert divergences(known, strange) == pytest.approx([math.log(1 / 1e-5)])


def test_it_is_the_divergence_of_histograms_from_those_that_never_knew() -> None:
    known = np.array([[0.0]] * 3 + [[1.0]])
    strange = np.array([[0.0]] * 2 + [[1.0]] * 2)
    assert divergences(known, strange) == pytest.approx([0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.5)])


def binned(p: Sequence[float], q: Sequence[float], with_largest: bool = True) -> float:
    """`KL(p || q)` by the benchmark's rule, number by number; its code leaves the largest margin out."""
    p, q = ([min(100.0, max(-100.0, value)) for value in each] for each in (p, q))
    low, high = min(*p, *q), max(*p, *q)
    shares = []
    for values in (p, q):
        counts = [0] * 20
        for value in values:
            if with_largest or value < high:
                counts[min(19, int((value - low) / (high - low) * 20))] += 1
        shares.append([count / sum(counts) for count in counts])
    return sum(a * math.log(a / max(b, 1e-5)) for a, b in zip(*shares, strict=True) if a)


def test_it_is_the_figure_of_the_data_unlearning_benchmark() -> None:
    stream = np.random.default_rng(3)
    for shift in (0.0, 0.5, 3.0, 300.0):
        known, strange = stream.normal(shift, 1.2, (100, 60)), stream.normal(0, 1, (100, 60))
        expected = [binned(*pair) for pair in zip(known.T.tolist(), strange.T.tolist(), strict=True)]
        assert divergences(known, strange) == pytest.approx(expected)
        assert klom(known, strange).p95 == pytest.approx(float(np.percentile(expected, 95)))


def test_the_largest_margin_hardly_matters() -> None:
    """The benchmark's code drops it, as `numpy.digitize` gives it a bin of its own."""
    stream = np.random.default_rng(4)
    known, strange = stream.normal(0.5, 1, (100, 60)), stream.normal(0, 1, (100, 60))
    dropped = [binned(*pair, False) for pair in zip(known.T.tolist(), strange.T.tolist(), strict=True)]
    assert klom(known, strange).p95 == pytest.approx(float(np.percentile(dropped, 95)), rel=0.1)
    assert klom(known, strange).mean == pytest.approx(float(np.mean(dropped)), rel=0.1)


def test_what_is_beyond_the_range_counts_as_its_end() -> None:
    known, strange = np.full((4, 1), 1e6), np.full((4, 1), 100.0)
    assert divergences(known, strange) == pytest.approx([0.0])


def test_the_summary_names_the_worst_example() -> None:
    known = np.random.default_rng(1).normal(size=(64, 40))
    known[:, 5] += 50
    found = klom(known, np.random.default_rng(2).normal(size=(64, 40)))
    assert found.worst_example == 5
    assert found.worst == pytest.approx(math.log(1e5), rel=0.1)
    assert found.mean < found.p95 < found.worst


def test_too_few_models_are_refused() -> None:
    with pytest.raises(UnlearningError, match="S at least 4"):
        klom(np.ones((3, 2)), np.ones((3, 2)))


def test_what_is_above_the_floor_is_told_from_chance() -> None:
    stream = np.random.default_rng(0)
    gold, floor, same, other = (stream.normal(0, 1, (48, 20)) for _ in range(4))
    assert above_floor(same, floor, gold).low < 0 < above_floor(same, floor, gold).high
    assert above_floor(other + 2, floor, gold).low > 0
    far = above_floor(other + 50, floor, gold)
    assert far.low <= far.value <= far.high
    assert above_floor(other + 2, floor, gold).value == pytest.approx(
        klom(other + 2, gold).mean - klom(floor, gold).mean
    )
