# SPDX-License-Identifier: Apache-2.0
"""What counts the joules of a part of the machine."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class MachinePart(StrEnum):
    PROCESSOR = "processor"
    MEMORY = "memory"
    ACCELERATOR = "accelerator"


class EnergyCounter(Protocol):
    """A counter that only rises, and starts over at `period`.

    Attributes:
        source: what it is called.
        period: J after which it is 0 again; infinite if it never is.
    """

    @property
    def part(self) -> MachinePart: ...

    @property
    def source(self) -> str: ...

    @property
    def period(self) -> float: ...

    def read(self) -> float:
        """J since some moment.  Raises OSError if it cannot be read any more."""
        ...
