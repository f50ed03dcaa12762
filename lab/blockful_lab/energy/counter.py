# SPDX-License-Identifier: Apache-2.0
"""The interface of energy counters for a part of the machine."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class MachinePart(StrEnum):
    PROCESSOR = "processor"
    MEMORY = "memory"
    ACCELERATOR = "accelerator"


class EnergyCounter(Protocol):
    """A monotonic counter that wraps around at `period`.

    Attributes:
        source: display name.
        period: J at which it wraps to 0; infinite if it never does.
    """

    @property
    def part(self) -> MachinePart: ...

    @property
    def source(self) -> str: ...

    @property
    def period(self) -> float: ...

    def read(self) -> float:
        """J since some moment.  Raises OSError if it is no longer readable."""
        ...
