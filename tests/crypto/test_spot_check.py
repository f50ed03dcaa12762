# SPDX-License-Identifier: Apache-2.0
"""The draws of a spot check, and its rate of detection of forgeries."""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations
from math import sqrt

import pytest

from blockful_py.crypto.spot_check import challenged, chance_of_catching, commitment, leaf, salts

DRAWS = 4000


def beacon(number: int) -> bytes:
    return sha256(number.to_bytes(4, "big")).digest()


@pytest.mark.parametrize(("intervals", "count", "forged"), [(32, 8, 1), (32, 8, 3), (7, 2, 1), (10, 5, 2)])
def test_forgeries_are_caught_as_often_as_is_stated(intervals: int, count: int, forged: int) -> None:
    bad = set(range(forged))
    caught = sum(
        bool(bad.intersection(challenged(beacon(i), bytes(32), intervals, count))) for i in range(DRAWS)
    )
    stated = chance_of_catching(intervals, count, forged)
    assert abs(caught / DRAWS - stated) < 4 * sqrt(stated * (1 - stated) / DRAWS)


def test_every_subset_is_drawn_equally_often() -> None:
    drawn = [challenged(beacon(i), bytes(32), 5, 2) for i in range(DRAWS)]
    share = 1 / 10
    for subset in combinations(range(5), 2):
        assert abs(drawn.count(subset) / DRAWS - share) < 4 * sqrt(share * (1 - share) / DRAWS)


def test_the_chance_is_that_of_drawing_without_replacement() -> None:
    for intervals in range(1, 9):
        for count in range(1, intervals + 1):
            assert chance_of_catching(intervals, count) == pytest.approx(count / intervals)
            for forged in range(intervals + 1):
                subsets = list(combinations(range(intervals), count))
                hits = sum(any(i < forged for i in subset) for subset in subsets)
                assert chance_of_catching(intervals, count, forged) == pytest.approx(hits / len(subsets))


def test_a_draw_depends_on_the_block_and_on_the_commitment() -> None:
    drawn = challenged(beacon(0), bytes(32), 32, 8)
    assert drawn == challenged(beacon(0), bytes(32), 32, 8) == tuple(sorted(set(drawn)))
    assert drawn != challenged(beacon(1), bytes(32), 32, 8)
    assert drawn != challenged(beacon(0), beacon(9), 32, 8)
    assert challenged(beacon(0), bytes(32), 3, 3) == (0, 1, 2)


def test_leaves_hide_items_and_their_order_is_committed_to() -> None:
    first, second = salts(5, 2)
    assert (first, second) == salts(5, 3)[:2] != salts(6, 2)
    assert leaf(first, b"same") != leaf(second, b"same")
    assert commitment([first, second]) != commitment([second, first])
