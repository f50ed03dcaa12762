# SPDX-License-Identifier: Apache-2.0
"""Figures judge the claims: the paper's story confirms them, the opposite refutes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from blockful_lab.experiments.scale.claims import CLAIMS, ClaimVerdict, judge
from blockful_lab.experiments.scale.plan import NETWORKS, POW, PlannedPoint, plan
from blockful_lab.experiments.scale.points import ScalePoint
from blockful_lab.simulation.summary import Figure

Seconds = Callable[[PlannedPoint], float]


def points(seconds: Seconds) -> list[ScalePoint]:
    """All points, from the seconds of the whole; every seed within 1 % of the mean."""
    found = []
    for each in plan():
        whole, count = seconds(each), each.settings.requests
        sizes = (count / whole, whole, whole / count)
        figures = (Figure(one, 0.99 * one, 1.01 * one, 3) for one in sizes)
        found.append(ScalePoint(each.panels, each.curve, each.x, "simulated", *figures))
    return found


def story(point: PlannedPoint) -> float:
    """Seconds as the paper tells it."""
    settings = point.settings
    size = settings.requests * settings.depth
    exponent = 1.5 if settings.paradigm == "sequential" else 0.5
    slow = 1.0 if point.curve != POW else 2.0
    if point.curve == POW and settings.paradigm == "sequential":
        slow *= 3 if settings.requests == 800 or settings.depth > 5 else 1
    if point.curve == POW and settings.depth == 8:
        slow *= 2
    network = 1 + NETWORKS.index(settings.network) if settings.network in NETWORKS else 1
    return slow * network * size**exponent


def opposite(point: PlannedPoint) -> float:
    """Voting is slower than mining, parallel than sequential; more work takes less time."""
    settings = point.settings
    size = settings.requests * settings.depth
    network = 1 + NETWORKS[::-1].index(settings.network) if settings.network in NETWORKS else 1
    paradigm = 1.0 if settings.paradigm == "sequential" else 1e9
    return (
        paradigm
        * network
        * (1 if point.curve == POW else 3)
        * (size**-0.5 if settings.paradigm == "sequential" else size**1.5)
    )


def test_the_papers_story_confirms_what_does_not_contradict_itself() -> None:
    """Latency cannot both drop (d) and be the time of a whole that grows, from arrival to end."""
    judged = {each.claim: each for each in judge(points(story))}
    assert len(judged) == len(CLAIMS) == 16
    doubted = {claim for claim, each in judged.items() if each.verdict != ClaimVerdict.CONFIRMED}
    assert doubted == {"Parallel latency drops with more requests."}
    assert judged["Parallel latency drops with more requests."].verdict == ClaimVerdict.PARTLY


def test_the_opposite_refutes_all() -> None:
    assert {each.claim for each in judge(points(opposite)) if each.verdict == ClaimVerdict.CONFIRMED} == set()


@pytest.mark.parametrize("change", [1.0, 1.04])
def test_a_difference_within_the_seeds_or_too_small_counts_as_none(change: float) -> None:
    judged = judge([replace(each, throughput=Figure(change, change, change, 3)) for each in points(story)])
    assert judged[0].verdict == judged[4].verdict == ClaimVerdict.REFUTED


def test_real_points_are_not_judged() -> None:
    told = points(story)
    assert judge([*told, replace(told[0], kind="real", x=1)]) == judge(told)
