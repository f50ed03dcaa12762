# SPDX-License-Identifier: Apache-2.0
"""The limits that the owner of a participant sets."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from blockful_py.errors import SettingsError
from blockful_py.settings.limits import OwnerLimits


def limits(folder: Path, text: str) -> OwnerLimits:
    path = folder / "limits.toml"
    path.write_text(text)
    return OwnerLimits.load(path)


def test_without_a_file_nothing_is_limited(tmp_path: Path) -> None:
    free = OwnerLimits.load(tmp_path / "limits.toml")
    assert free.withheld(datetime(2026, 1, 1, 4)) is None
    assert free.enough(10**6, 10**6) is None
    assert free.refused("client", "retrain") is None


@pytest.mark.parametrize(
    ("hours", "hour", "minute", "begins"),
    [
        ("09:00-17:00", 9, 0, True),
        ("09:00-17:00", 16, 59, True),
        ("09:00-17:00", 17, 0, False),
        ("09:00-17:00", 8, 59, False),
        ("20:00-06:30", 23, 0, True),
        ("20:00-06:30", 6, 29, True),
        ("20:00-06:30", 6, 30, False),
        ("20:00-06:30", 12, 0, False),
    ],
)
def test_work_begins_in_its_hours(tmp_path: Path, hours: str, hour: int, minute: int, begins: bool) -> None:
    why = limits(tmp_path, f'hours = ["{hours}"]').withheld(datetime(2026, 1, 1, hour, minute))
    assert why is None if begins else hours in str(why)


def test_one_of_several_spans_is_enough(tmp_path: Path) -> None:
    found = limits(tmp_path, 'hours = ["01:00-02:00", "13:00-14:00"]')
    assert found.withheld(datetime(2026, 1, 1, 13, 30)) is None
    assert found.withheld(datetime(2026, 1, 1, 3)) is not None


def test_models_are_counted_a_day_and_in_all(tmp_path: Path) -> None:
    found = limits(tmp_path, "models = 5\nmodels_a_day = 2")
    assert found.enough(4, 1) is None
    assert "of 5 at most" in str(found.enough(5, 0))
    assert "2 a day" in str(found.enough(4, 2))
    assert limits(tmp_path, "models = 0").enough(0, 0) is not None


def test_requests_are_refused_by_level_and_by_method(tmp_path: Path) -> None:
    found = limits(tmp_path, 'refused_levels = ["client"]\nrefused_methods = ["retrain"]')
    assert "level client" in str(found.refused("client", "gradient_ascent"))
    assert "method retrain" in str(found.refused("class", "retrain"))
    assert found.refused("class", "gradient_ascent") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('hours = ["9-17"]', 'as "20:00-06:00"'),
        ('hours = ["24:00-06:00"]', 'as "20:00-06:00"'),
        ("cores = 0", "cores must be at least 1"),
        ("models_a_day = -1", "models_a_day must be at least 0"),
        ('refused_levels = ["clients"]', "did you mean 'client'"),
        ("core = 2", "did you mean 'cores'"),
        ("hours = ", "not valid TOML"),
    ],
)
def test_a_wrong_limit_is_named_with_its_file(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=r"limits\.toml") as raised:
        limits(tmp_path, text)
    assert complaint in str(raised.value)
