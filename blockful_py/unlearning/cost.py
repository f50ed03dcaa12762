# SPDX-License-Identifier: Apache-2.0
"""Cost of a method, counted while it runs, in sample passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import nn

__all__ = ["Cost", "Meter"]

FORWARD = Fraction(1, 3)
"""Sample passes of a forward pass alone; forward and backward together count 1."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a request, in sample passes: one is a forward and a backward pass of one sample.

    Attributes:
        passes: passes of all nodes together, at request time.
        critical_path: passes of the longest chain of dependent jobs: the request's duration if every model
            has a machine of its own.
        prepared: passes made in advance, when the models were published.
    """

    passes: float
    critical_path: float
    prepared: float = 0.0


class Work:
    """Counts the sample passes of one job."""

    def __init__(self) -> None:
        self.passes = Fraction(0)

    def trained(self, samples: int) -> None:
        """Adds samples that went forward and backward."""
        self.passes += samples

    def looked(self, samples: int) -> None:
        """Adds samples that only went forward."""
        self.passes += FORWARD * samples

    def watch(self, module: nn.Module) -> nn.Module:
        """Counts later calls of the module on x (B, ...): B if gradients are recorded, else B/3.

        Returns the module.
        """
        module.register_forward_pre_hook(self._count)
        return module

    def _count(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        self.passes += len(inputs[0]) * (Fraction(1) if torch.is_grad_enabled() else FORWARD)


class Meter:
    """Adds up the jobs of a request; jobs of one name, usually a model's, run one after the other."""

    def __init__(self) -> None:
        self._total = Fraction(0)
        self._prepared = Fraction(0)
        self._finished: dict[str, Fraction] = {}

    @contextmanager
    def job(self, name: str, after: Iterable[str] = ()) -> Iterator[Work]:
        """Counts a job that waits for the earlier jobs named in `after`."""
        work = Work()
        yield work
        began = max((self._finished.get(other, Fraction(0)) for other in (name, *after)), default=Fraction(0))
        self._finished[name] = began + work.passes
        self._total += work.passes

    @contextmanager
    def preparation(self) -> Iterator[Work]:
        """Counts a job that was done when the model was published."""
        work = Work()
        yield work
        self._prepared += work.passes

    def cost(self) -> Cost:
        longest = max(self._finished.values(), default=Fraction(0))
        return Cost(float(self._total), float(longest), float(self._prepared))
