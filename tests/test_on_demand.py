# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from blockful_py import on_demand
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


def test_all_caches_of_a_process_keep_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "KEPT_BYTES", 100)
    made: list[str] = []

    def make(key: str) -> dict[str, np.ndarray]:
        made.append(key)
        return {"weights": np.zeros(int(key[1:]), np.uint8)}

    first, second = OnDemand(["a60", "a101"], make), OnDemand(["b40", "b30"], make)
    assert [first["a60"] is first["a60"], second["b40"] is second["b40"]] == [True, True]
    assert first["a60"] is not None
    second["b30"]  # takes the place of the one that was used the longest time ago
    assert made == ["a60", "b40", "b30"]
    first["a60"]
    second["b40"]
    assert made == ["a60", "b40", "b30", "b40"]
    first["a101"], first["a101"]
    assert made[4:] == ["a101", "a101"]


def test_a_cache_that_is_gone_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_demand, "KEPT_BYTES", 100)
    made: list[str] = []

    def make(key: str) -> dict[str, np.ndarray]:
        made.append(key)
        return {"weights": np.zeros(60, np.uint8)}

    kept, gone = OnDemand("a", make), OnDemand("b", make)
    gone["b"]
    del gone
    kept["a"], OnDemand("c", lambda key: {"weights": np.zeros(40, np.uint8)})["c"], kept["a"]
    assert made == ["b", "a"]
