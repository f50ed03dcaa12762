# SPDX-License-Identifier: Apache-2.0
"""The direction along which the samples of a class vary most."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.learning.data import Samples

STEPS = 20
"""Of the power iteration; the direction orders samples, so it need not have converged."""


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A unit vector of the flattened inputs, float64, and the centre that it starts from."""

    centre: Tensor
    vector: Tensor

    def of(self, x: Tensor) -> Tensor:
        """Position of each input along the direction, float64 (n,)."""
        return (x.flatten(1).to(torch.float64) - self.centre) @ self.vector


def principal_directions(samples: Samples, stream: torch.Generator) -> dict[int, Direction]:
    """First principal component of each class, by power iteration from a random start.

    For texts the inputs are token ids, whose greatest spread is mostly that of the texts' lengths.
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
