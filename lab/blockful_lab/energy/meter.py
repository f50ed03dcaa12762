# SPDX-License-Identifier: Apache-2.0
"""Measures the energy of a `with` block in joules.

Counters cover the whole machine, including other processes.  Without a processor counter, the processor's
joules are the processor seconds of this process and its descendants times the stated watts per core.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Self

from blockful_lab.energy.counter import EnergyCounter, MachinePart
from blockful_lab.energy.nvml import nvml_counters
from blockful_lab.energy.processor_time import processor_seconds
from blockful_lab.energy.rapl import rapl_counters

GLANCE = 10.0
"""Seconds between two readings: less than any counter takes to wrap around."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """Energy of a block.

    Attributes:
        joules: by part of the machine.
        sources: the counters, or the stated watts.
        processor: processor seconds of this process and its descendants.
    """

    joules: dict[MachinePart, float]
    sources: tuple[str, ...]
    processor: float

    @property
    def measured(self) -> bool:
        """Whether a counter measured the processor's joules."""
        return not any(each.startswith("stated") for each in self.sources)


def machine_counters() -> list[EnergyCounter]:
    """All counters that this user may read."""
    return [*rapl_counters(), *nvml_counters()]


class EnergyMeter:
    """A context manager; `consumption` is available after it.  Raises OSError if a counter fails."""

    def __init__(self, watts: float, counters: Sequence[EnergyCounter] | None = None) -> None:
        """Uses `watts` per busy core without a processor counter; `counters` default to the machine's."""
        self._watts = watts
        found: Sequence[EnergyCounter] = counters if counters is not None else machine_counters()
        self._counters = tuple(found)
        self._last = [0.0] * len(self._counters)
        self._spent = [0.0] * len(self._counters)
        self._seconds = 0.0
        self._done = Event()
        self._watch = Thread(target=self._look, name="energy meter", daemon=True)

    def __enter__(self) -> Self:
        self._seconds = -processor_seconds()
        self._last = [each.read() for each in self._counters]
        self._watch.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._watch.join()
        self._read()
        self._seconds += processor_seconds()

    @property
    def consumption(self) -> Consumption:
        joules: dict[MachinePart, float] = {}
        for counter, spent in zip(self._counters, self._spent, strict=True):
            joules[counter.part] = joules.get(counter.part, 0.0) + spent
        sources = [each.source for each in self._counters]
        if MachinePart.PROCESSOR not in joules:
            joules[MachinePart.PROCESSOR] = self._seconds * self._watts
            sources.append(f"stated: {self._watts:g} W a core")
        return Consumption(joules, tuple(sources), self._seconds)

    def _look(self) -> None:
        with suppress(OSError):  # the last reading raises it
            while not self._done.wait(GLANCE):
                self._read()

    def _read(self) -> None:
        for place, counter in enumerate(self._counters):
            now = counter.read()
            risen = now - self._last[place]
            self._spent[place] += risen if risen >= 0 else risen + counter.period
            self._last[place] = now
