# SPDX-License-Identifier: Apache-2.0
"""Trust: a beta reputation over the last hundred experiences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MEMORY = 100
KNOWN = st.integers(0, MEMORY).flatmap(lambda good: st.tuples(st.just(good), st.integers(0, MEMORY - good)))
MORE = st.integers(0, 255)


@pytest.mark.parametrize(("good", "bad", "score"), [(0, 0, 500_000), (1, 0, 666_666), (0, 2, 250_000)])
def test_the_score_is_the_mean_of_the_beta_distribution(
    harness: Any, good: int, bad: int, score: int
) -> None:
    assert harness.score(good, bad) == score


@settings(deadline=None, derandomize=True, max_examples=100, suppress_health_check=HealthCheck.all())
@given(known=KNOWN, more=MORE)
def test_good_never_lowers_and_bad_never_raises(harness: Any, known: tuple[int, int], more: int) -> None:
    before = harness.score(*known)
    for new, kind in (((more, 0), 0), ((0, more), 1)):
        after = harness.remember(*known, *new)
        assert sum(after) <= MEMORY
        assert after[kind] == min(known[kind] + more, MEMORY)
        assert after[1 - kind] == min(known[1 - kind], MEMORY - after[kind])
        moved = harness.score(*after) - before
        assert moved * (1 if kind == 0 else -1) >= 0


def test_a_long_good_past_ends_after_so_many_bad_experiences(harness: Any) -> None:
    """From the best score, 61 bad experiences fall below 400,000, however long the past was."""
    counts = (MEMORY, 0)
    for _ in range(10):
        counts = tuple(harness.remember(*counts, 8, 0))
    assert [int(each) for each in counts] == [MEMORY, 0]
    fall = 0
    while harness.score(*counts) >= 400_000:
        counts = tuple(harness.remember(*counts, 0, 1))
        fall += 1
    assert fall == 61
