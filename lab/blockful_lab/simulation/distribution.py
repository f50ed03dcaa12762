# SPDX-License-Identifier: Apache-2.0
"""Distributions of positive quantities, as text: "0.05", "uniform:0.01,0.1", "lognormal:0.05,0.5"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import SettingsError

Floats = NDArray[np.float64]
KINDS: Mapping[str, tuple[str, ...]] = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "exponential": ("mean",),
    "lognormal": ("median", "sigma"),
}
"""Parameters by kind; `sigma` is the standard deviation of the logarithm."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """One of `KINDS` with its parameters, in the unit of the quantity."""

    kind: str
    parameters: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Distribution:
        """Reads "kind:parameters", or one number for a constant.  Raises SettingsError."""
        kind, _, rest = text.partition(":") if ":" in text else ("constant", ":", text)
        try:
            parameters = tuple(float(part) for part in rest.split(","))
        except ValueError:
            parameters = ()
        if len(parameters) != len(KINDS.get(kind, ("",) * 9)) or not _sound(kind, parameters):
            forms = ", ".join(f"{name}:{','.join(words)}" for name, words in KINDS.items())
            raise SettingsError(
                f"{text!r} is no distribution of positive numbers: write a number, or {forms}."
            )
        return cls(kind, parameters)

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        first, second = (*self.parameters, 0.0)[:2]
        draws: Mapping[str, Callable[[], Floats]] = {
            "constant": lambda: np.full(size, first),
            "uniform": lambda: rng.uniform(first, second, size),
            "exponential": lambda: rng.exponential(first, size),
            "lognormal": lambda: first * np.exp(second * rng.standard_normal(size)),
        }
        return draws[self.kind]()

    @property
    def mean(self) -> float:
        first, second = (*self.parameters, 0.0)[:2]
        if self.kind == "uniform":
            return (first + second) / 2
        return first * math.exp(second**2 / 2) if self.kind == "lognormal" else first

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(f'{each:g}' for each in self.parameters)}"


def _sound(kind: str, parameters: tuple[float, ...]) -> bool:
    first, second = (*parameters, 0.0)[:2]
    if not all(math.isfinite(each) for each in parameters) or first <= 0:
        return False
    return second >= first if kind == "uniform" else second >= 0
