# SPDX-License-Identifier: Apache-2.0
"""The direction of the largest variance of a class's samples."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.learning.data import Samples

STEPS = 20
"""Steps of the power iteration; the direction only sorts samples, so it need not converge."""


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A direction in the space of flattened inputs of d numbers each.

    Attributes:
        centre: origin, float64 (d,).
        vector: unit vector, float64 (d,).
    """

    centre: Tensor
    vector: Tensor

    def of(self, x: Tensor) -> Tensor:
        """Position of each of n inputs (n, ...) along the direction: float64 (n,)."""
        return (x.flatten(1).to(torch.float64) - self.centre) @ self.vector


def principal_directions(samples: Samples, stream: torch.Generator) -> dict[int, Direction]:
    """First principal component of each class, by power iteration from a random start.

    The samples are on the CPU.  Inputs of texts are token ids; their variance mostly reflects the texts'
    lengths.
    """
    directions = {}
    for label in samples.classes():
        x = samples.x[samples.y == label].flatten(1).to(torch.float64)
        centre = x.mean(0)
        x = x - centre
        vector = torch.randn(x.shape[1], dtype=torch.float64, generator=stream)
        for _ in range(STEPS):
            moved = (x @ vector) @ x
            norm = moved.norm()
            vector = moved / norm if norm > 0 else vector / vector.norm()
        directions[label] = Direction(centre, vector)
    return directions
