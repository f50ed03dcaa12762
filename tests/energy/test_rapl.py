# SPDX-License-Identifier: Apache-2.0
"""RAPL readings from a folder laid out like Linux's."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_lab.energy.counter import MachinePart
from blockful_lab.energy.meter import EnergyMeter
from blockful_lab.energy.rapl import rapl_counters

RANGE = 262_143_328_850  # microjoules, of a Xeon


def zone(powercap: Path, folder: str, name: str, microjoules: int, most: int = RANGE) -> Path:
    path = powercap / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{most}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    return path


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Two sockets with their parts, as a server has them."""
    for socket in (0, 1):
        zone(tmp_path, f"intel-rapl:{socket}", f"package-{socket}", 5_000_000)
        zone(tmp_path, f"intel-rapl:{socket}:0", "core", 1_000_000)
        zone(tmp_path, f"intel-rapl:{socket}:1", "dram", 2_000_000)
    zone(tmp_path, "intel-rapl:2", "psys", 9_000_000)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    return tmp_path


def test_packages_and_memory_count_once(powercap: Path) -> None:
    found = {each.source: each for each in rapl_counters(powercap)}
    assert sorted(found) == [
        "RAPL intel-rapl:0", "RAPL intel-rapl:0:1", "RAPL intel-rapl:1", "RAPL intel-rapl:1:1"
    ]  # fmt: skip
    assert found["RAPL intel-rapl:1"].part == MachinePart.PROCESSOR
    assert found["RAPL intel-rapl:1:1"].part == MachinePart.MEMORY
    assert found["RAPL intel-rapl:1"].read() == 5.0


def test_joules_are_what_the_counters_rose_by(powercap: Path) -> None:
    with EnergyMeter(10, rapl_counters(powercap)) as meter:
        zone(powercap, "intel-rapl:0", "package-0", 8_500_000)
        zone(powercap, "intel-rapl:1", "package-1", 6_000_000)
        zone(powercap, "intel-rapl:1:1", "dram", 2_250_000)
    taken = meter.consumption
    assert taken.joules == {
        MachinePart.PROCESSOR: pytest.approx(4.5),
        MachinePart.MEMORY: pytest.approx(0.25),
    }
    assert taken.measured


def test_a_counter_that_starts_over_is_read_on(powercap: Path) -> None:
    zone(powercap, "intel-rapl:0", "package-0", RANGE - 1_000_000)
    with EnergyMeter(10, rapl_counters(powercap)) as meter:
        zone(powercap, "intel-rapl:0", "package-0", 2_000_000)
    assert meter.consumption.joules[MachinePart.PROCESSOR] == pytest.approx(3.0)


def test_what_cannot_be_read_is_left_out(powercap: Path) -> None:
    (powercap / "intel-rapl:0" / "energy_uj").unlink()
    zone(powercap, "intel-rapl:1", "package-1", 0, most=0)
    (powercap / "intel-rapl:1:1" / "energy_uj").write_text("none")
    assert [each.source for each in rapl_counters(powercap)] == ["RAPL intel-rapl:0:1"]


def test_a_machine_without_powercap_has_none(tmp_path: Path) -> None:
    assert rapl_counters(tmp_path / "none") == ()
