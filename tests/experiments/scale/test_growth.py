# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from blockful_lab.experiments.scale.growth import GrowthPoint, exponents, grow, points_of
from blockful_lab.simulation.constants import Constants
from blockful_py.errors import SettingsError

CONSTANTS = Constants.load()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[GrowthPoint]]:
    folder = tmp_path_factory.mktemp("growth")
    return folder, grow(1_000, 100, CONSTANTS, 5, folder, lambda points: None)


def test_gas_grows_as_the_models_do(grown: tuple[Path, list[GrowthPoint]]) -> None:
    _, points = grown
    assert [(each.over, each.x) for each in points] == [("models", 96), ("models", 1_000), ("members", 100)]
    assert exponents(points[:2])["gas"] == pytest.approx(1, abs=0.02)
    assert 0 < exponents(points[:2])["seconds"] < 1.05
    assert all(each.mebibytes > 10 for each in points)


def test_a_rerun_reads_the_files(grown: tuple[Path, list[GrowthPoint]]) -> None:
    folder, points = grown
    assert grow(1_000, 100, CONSTANTS, 5, folder, lambda done: None) == points
    assert points_of(1_000, 100) == 3


def test_exponents_are_those_of_a_power() -> None:
    points = [GrowthPoint("models", x, 3 * x**0.5, x**2, 7, x, 1, x**1.5) for x in (100, 1_000, 10_000)]
    found = exponents(points)
    assert found["seconds"] == pytest.approx(0.5)
    assert found["gas"] == pytest.approx(2)
    assert found["chain_bytes"] == pytest.approx(0)
    assert exponents(points[:1]) == {}


def test_a_growth_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the growth begins with 100 models: take more than 99"):
        grow(99, 100, CONSTANTS, 5, tmp_path, lambda done: None)
