# SPDX-License-Identifier: Apache-2.0
"""Energy counters of NVIDIA accelerators by NVML: mJ since the driver was loaded; since Volta."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from blockful_lab.energy.counter import MachinePart

MILLI = 1e-3


@dataclass(frozen=True, slots=True)
class NvmlCounter:
    """One accelerator; `library` is the module pynvml, `handle` its name for the device."""

    library: Any
    handle: Any
    number: int

    @property
    def part(self) -> MachinePart:
        return MachinePart.ACCELERATOR

    @property
    def source(self) -> str:
        return f"NVML {self.number}"

    @property
    def period(self) -> float:
        return math.inf

    def read(self) -> float:
        try:
            return int(self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle)) * MILLI
        except self.library.NVMLError as error:
            raise OSError(f"{self.source}: {error}") from None


def nvml_counters() -> tuple[NvmlCounter, ...]:
    """Counters of the accelerators; empty without the extra `energy`, a driver, or such a device."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return ()
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(n) for n in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError:
        return ()
    found = []
    for number, handle in enumerate(handles):
        counter = NvmlCounter(pynvml, handle, number)
        with suppress(OSError):
            counter.read()
            found.append(counter)
    return tuple(found)
