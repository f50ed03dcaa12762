# SPDX-License-Identifier: Apache-2.0
"""Buffers that are used again and again give what fresh ones would."""

from __future__ import annotations

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.curve import G, N, P
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.workspace import Workspace
from blockful_py.errors import InvalidKeyError
from blockful_py.types import Point
from tests.crypto import slow_curve

POINTS = [curve.multiply_base(curve.random_scalar(SeededRng(b"workspace", i))) for i in range(9)]
MINUS_G = curve.negate(G)


def slow_total(points: list[Point]) -> Point | None:
    found: slow_curve.Affine = None
    for point in points:
        found = slow_curve.add(found, (point.x, point.y))
    return Point(*found) if found else None


def test_sums_of_any_number_of_points_in_any_order() -> None:
    workspace = Workspace(len(POINTS))
    for count in (9, 1, 5, 2, 9):
        assert workspace.total(POINTS[:count]) == slow_total(POINTS[:count])
    assert workspace.total([G, G]) == slow_total([G, G])


def test_a_sum_with_a_multiple() -> None:
    workspace = Workspace(2)
    for a, b in zip(POINTS, reversed(POINTS), strict=True):
        scalar = curve.random_scalar(SeededRng(b"scalar", b.x % 1000))
        product = slow_curve.multiply((b.x, b.y), scalar)
        assert product is not None
        expected = slow_total([a, Point(*product)])
        assert curve.decompress(workspace.add_multiple(a, scalar, b)) == expected


def slow_value(coefficients: list[Point], at: int) -> Point:
    found: slow_curve.Affine = None
    for power, point in enumerate(coefficients):
        found = slow_curve.add(found, slow_curve.multiply((point.x, point.y), pow(at, power, N)))
    assert found is not None
    return Point(*found)


def test_a_polynomial_of_points() -> None:
    workspace = Workspace(2)
    for count in (1, 2, 5):
        for at in (1, 2, 100, N - 1, POINTS[0].x % N):
            assert workspace.evaluate(POINTS[:count], at) == slow_value(POINTS[:count], at)


def test_a_polynomial_is_refused_with_a_bad_point_at_a_bad_place_or_with_infinity_in_it() -> None:
    workspace = Workspace(2)
    for at in (0, N, -1):
        with pytest.raises(InvalidKeyError):
            workspace.evaluate(POINTS[:2], at)
    for place in range(3):
        broken = [*POINTS[:place], Point(G.x, G.y + 1), *POINTS[place:2]]
        with pytest.raises(InvalidKeyError, match="not a point"):
            workspace.evaluate(broken, 2)
    with pytest.raises(InvalidKeyError, match="infinity"):
        workspace.evaluate([MINUS_G, G], 1)
    with pytest.raises(InvalidKeyError, match="infinity"):
        workspace.evaluate([G, MINUS_G, G], 1)
    assert workspace.evaluate(POINTS[:3], 3) == slow_value(POINTS[:3], 3)


@pytest.mark.parametrize("scalar", [0, N, N + 1, -1, 2**256])
def test_scalars_out_of_range_are_refused(scalar: int) -> None:
    with pytest.raises(InvalidKeyError, match=r"\[1, n\)"):
        Workspace(2).add_multiple(G, scalar, G)


@pytest.mark.parametrize(
    "point", [Point(G.x, G.y + 1), Point(0, 0), Point(P, 1), Point(2**256, 1), Point(-1, 1)]
)
def test_what_is_no_point_is_refused_and_leaves_nothing_behind(point: Point) -> None:
    workspace = Workspace(3)
    workspace.total(POINTS[:3])
    for given in ([point], [G, point], [G, G, point]):
        with pytest.raises(InvalidKeyError, match="not a point"):
            workspace.total(given)
    for a, b in ((point, G), (G, point)):
        with pytest.raises(InvalidKeyError, match="not a point"):
            workspace.add_multiple(a, 2, b)
    assert workspace.total(POINTS[:3]) == slow_total(POINTS[:3])


def test_infinity_is_refused_and_leaves_nothing_behind() -> None:
    workspace = Workspace(2)
    with pytest.raises(InvalidKeyError, match="infinity"):
        workspace.total([G, MINUS_G])
    with pytest.raises(InvalidKeyError, match="infinity"):
        workspace.add_multiple(G, N - 1, G)
    assert workspace.total([G]) == G


def test_there_is_room_for_one_point_or_more_and_no_more_than_asked_for() -> None:
    with pytest.raises(InvalidKeyError):
        Workspace(1).total([])
    with pytest.raises(ValueError, match="room for 2 points, 3"):
        Workspace(2).total(POINTS[:3])
