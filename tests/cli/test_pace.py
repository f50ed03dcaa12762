# SPDX-License-Identifier: Apache-2.0
"""Rates and remaining time follow from the steps that were done, and are not told too early."""

from __future__ import annotations

import pytest

from blockful_py.cli.stages import SECONDS, WINDOW, StagePace, told_rate, told_seconds


def test_a_steady_stage_has_its_rate_and_rest() -> None:
    pace = StagePace(100.0)
    for step in range(1, 5):
        pace.advance(100.0 + 2.0 * step, step)
    assert pace.rate() == 0.5
    assert pace.remaining(108.0, 10) == 20.0


@pytest.mark.parametrize("advances", [0, 1, 2])
def test_nothing_is_told_from_few_steps(advances: int) -> None:
    pace = StagePace(0.0)
    for step in range(1, advances + 1):
        pace.advance(float(step), step)
    assert pace.rate() is None
    assert pace.remaining(10.0, 5) is None


def test_time_that_passed_since_the_last_step_is_taken_off_but_not_for_ever() -> None:
    pace = StagePace(0.0)
    for step in range(1, 4):
        pace.advance(10.0 * step, step)
    assert pace.remaining(34.0, 2) == pytest.approx(16.0)
    assert pace.remaining(500.0, 2) == pytest.approx(10.0), "one step is under way, and one is to come"


def test_the_last_steps_count() -> None:
    pace = StagePace(0.0)
    for step in range(1, WINDOW + 1):
        pace.advance(float(step), step)
    begun = float(WINDOW)
    for step in range(1, WINDOW + 1):
        pace.advance(begun + step * SECONDS, WINDOW + step)
    assert pace.rate() == pytest.approx(1 / SECONDS)


def test_many_quick_steps_are_not_told_from_a_moment() -> None:
    pace = StagePace(0.0)
    for step in range(1, 1001):
        pace.advance(step / 1000 if step <= 500 else 0.5 + (step - 500) / 250, step)
    assert pace.rate() == pytest.approx(1000 / 2.5)


def test_steps_that_come_several_at_a_time_are_all_counted() -> None:
    pace = StagePace(0.0)
    for wave, done in enumerate((4, 8, 14), start=1):
        pace.advance(7.0 * wave, done)
    assert pace.rate() == pytest.approx(14 / 21)


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (321.4, "321 models/s"),
        (3.24, "3.2 models/s"),
        (0.5, "30 models/min"),
        (1 / 40, "1.5 models/min"),
        (1 / 900, "4.0 models/h"),
    ],
)
def test_rates_are_told_in_a_unit_that_fits(rate: float, told: str) -> None:
    assert told_rate(rate, "models") == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (130, "2 min 10 s"),
        (3900, "1 h 05 min"),
    ],
)
def test_times_are_told_in_a_unit_that_fits(seconds: float, told: str) -> None:
    assert told_seconds(seconds) == told
