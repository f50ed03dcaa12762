# SPDX-License-Identifier: Apache-2.0
"""Optional parts of a model node: privacy spent, stored increments, and the spot check of a training."""

from __future__ import annotations

import math

from pydantic import Field, model_validator

from blockful_py.crypto.spot_check import chance_of_catching
from blockful_py.record.fields import Part


class Privacy(Part):
    """(epsilon, delta)-differential privacy of the owner's training samples, as spent by one training.

    Each of `steps` batches had each sample with probability `sample_rate`, gradients of length at most
    `clip`, and noise of standard deviation `noise * clip`; epsilon follows from these and delta.
    """

    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    noise: float = Field(gt=0)
    clip: float = Field(gt=0)
    sample_rate: float = Field(gt=0, le=1)
    steps: int = Field(ge=1)

    def __str__(self) -> str:
        return f"ε {self.epsilon:.3g}, δ {self.delta:g}"


class Increment(Part):
    """A clean increment that the owner stored with the model (`unlearning.stored_increments`).

    Attributes:
        label: class that the owner's own training left out.
        weights: CID of its sealed file.
        base: digest of the base that it is added to, 32 bytes in hexadecimal.
    """

    label: int = Field(ge=0)
    weights: str
    base: str = Field(pattern=r"^[0-9a-f]{64}$")


class SpotCheck(Part):
    """The part of an owner's training for a request that members recomputed before they signed.

    Attributes:
        disclosure: CID of the sealed file that discloses it to members.
        intervals: number of intervals of the training.
        challenged: number of intervals that were drawn and recomputed.
    """

    disclosure: str
    intervals: int = Field(ge=1, le=1 << 16)
    challenged: int = Field(ge=1)

    @model_validator(mode="after")
    def _some_of_them(self) -> SpotCheck:
        if self.challenged > self.intervals:
            raise ValueError("more intervals are challenged than there are")
        return self

    @property
    def chance(self) -> float:
        """Probability that a forged training would have been caught, from 0 to 1."""
        return chance_of_catching(self.intervals, self.challenged)

    def __str__(self) -> str:
        percent = math.floor(100 * self.chance)
        return (
            f"{self.challenged} of {self.intervals} intervals of the training, drawn after its owner had "
            "committed to all, were computed again; a forged training is caught with a probability of "
            f"{percent} % or more"
        )
