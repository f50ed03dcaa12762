# SPDX-License-Identifier: Apache-2.0
"""The constants in the package, and constants from a file."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from benchmarks.simulation_constants import written
from blockful_lab.simulation.constants import Constants, line
from blockful_py.errors import SettingsError

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = files("blockful_lab.simulation").joinpath("constants.json").read_text(encoding="utf-8")
SOURCE = re.compile(r"python -m (benchmarks\.\w+)|(docs/[\w/-]+\.md)")


def test_the_file_is_as_the_benchmark_writes_it() -> None:
    assert written(json.loads(SHIPPED)) == SHIPPED


@pytest.mark.parametrize("entry", Constants.load().documented(), ids=lambda entry: entry["name"])
def test_a_constant_is_stated_or_names_a_command_or_a_page(entry: dict[str, Any]) -> None:
    if entry["assumed"]:
        assert entry["source"].startswith("stated: ")
    elif re.fullmatch(r"as [\w.]+(; .*)?", entry["source"]):
        assert entry["source"].split()[1].rstrip(";") in json.loads(SHIPPED)
    else:
        module, page = SOURCE.search(entry["source"]).groups()  # type: ignore[union-attr]
        assert (ROOT / (page or f"{module.replace('.', '/')}.py")).exists()


def test_between_and_beyond_points_is_their_line_and_never_less_than_the_least() -> None:
    assert line([(1, 3), (3, 7)]) == pytest.approx((2, 1))
    found = Constants.of({"a": {"points": [[1, 3], [3, 7]], "over": "x", "unit": "s", "source": "a test"}})
    assert [found.at("a", x) for x in (1, 2, 10)] == pytest.approx([3, 5, 21])
    assert found.at("a", 0) == 3


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"value": 1, "source": "a test"}, "constant 'a' needs a unit, a source, and a value"),
        ({"value": "x", "unit": "s", "source": "a test"}, "constant 'a' needs a unit"),
        ({"value": -1, "unit": "s", "source": "a test"}, "constant 'a' is negative"),
        (7, "constant 'a' needs a unit"),
    ],
)
def test_what_is_no_constant_is_refused(entry: Any, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Constants.of({"a": entry})
