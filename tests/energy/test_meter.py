# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from time import process_time
from types import SimpleNamespace

import pytest

from blockful_lab.energy.counter import MachinePart
from blockful_lab.energy.meter import EnergyMeter
from blockful_lab.energy.nvml import nvml_counters
from blockful_lab.energy.processor_time import processor_seconds


class DeviceError(Exception):
    pass


class FakeLibrary(SimpleNamespace):
    """As much of pynvml as is used: device 0 counts, device 1 is too old."""

    def __init__(self) -> None:
        super().__init__(NVMLError=DeviceError, millijoules=7_000, begun=False)

    def nvmlInit(self) -> None:
        self.begun = True

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        return number

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:
        if handle == 1 or not self.begun:
            raise DeviceError("Not Supported")
        return self.millijoules


def spin(seconds: float) -> None:
    end = process_time() + seconds
    while process_time() < end:
        pass


def test_an_accelerator_counts_beside_the_stated_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    with EnergyMeter(10, nvml_counters()) as meter:
        library.millijoules += 1_500
    taken = meter.consumption
    assert taken.joules[MachinePart.ACCELERATOR] == pytest.approx(1.5)
    assert taken.sources == ("NVML 0", "stated: 10 W a core")
    assert not taken.measured


def test_without_a_driver_or_the_package_there_is_no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()

    def no_driver() -> None:
        raise DeviceError("Driver Not Loaded")

    monkeypatch.setattr(library, "nvmlInit", no_driver, raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert nvml_counters() == ()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml_counters() == ()


def test_without_counters_the_processors_seconds_are_priced() -> None:
    with EnergyMeter(20, ()) as meter:
        spin(0.05)
    taken = meter.consumption
    assert taken.processor >= 0.05
    assert taken.joules == {MachinePart.PROCESSOR: pytest.approx(20 * taken.processor)}
    assert taken.sources == ("stated: 20 W a core",)


def test_a_counter_that_is_lost_ends_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    with pytest.raises(OSError, match="NVML 0: Not Supported"), EnergyMeter(10, nvml_counters()):
        library.begun = False


def test_a_childs_time_counts_while_it_lives_and_after_it_ended() -> None:
    busy = (
        "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
        "print(flush=True)\ninput()\n"
    )
    before = processor_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin and child.stdout
        child.stdout.readline()
        assert processor_seconds() - before >= 0.25
        child.stdin.write(b"\n")
        child.stdin.close()
    assert processor_seconds() - before >= 0.25
