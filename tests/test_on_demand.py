# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.on_demand import KEPT, OnDemand


def test_values_are_made_when_they_are_asked_for_and_few_are_kept() -> None:
    made: list[int] = []

    def make(key: int) -> str:
        made.append(key)
        return str(key)

    values = OnDemand(range(2 * KEPT), make)
    assert (list(values), len(values), made) == ([*range(2 * KEPT)], 2 * KEPT, [])
    assert [values[key] for key in (3, 3, 1)] == ["3", "3", "1"]
    assert made == [3, 1]
    assert dict(values) == {key: str(key) for key in range(2 * KEPT)}
    made.clear()
    assert (values[2 * KEPT - 1], values[0]) == (str(2 * KEPT - 1), "0")
    assert made == [0]


def test_what_is_no_key_is_not_made() -> None:
    values = OnDemand("ab", str.upper)
    assert "c" not in values
    assert values.get("c") is None
    with pytest.raises(KeyError):
        values["c"]
