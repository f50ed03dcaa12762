# SPDX-License-Identifier: Apache-2.0
"""Optional parts of an owner's statement: privacy spent and stored increments."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Privacy(BaseModel):
    """(epsilon, delta)-differential privacy of the owner's training samples, as one training spent it.

    Each of `steps` batches had each sample with probability `sample_rate`, gradients of length at most
    `clip`, and noise of standard deviation `noise * clip`; epsilon follows from these and delta.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    noise: float = Field(gt=0)
    clip: float = Field(gt=0)
    sample_rate: float = Field(gt=0, le=1)
    steps: int = Field(ge=1)

    def __str__(self) -> str:
        return f"ε {self.epsilon:.3g}, δ {self.delta:g}"


class Increment(BaseModel):
    """A clean increment that the owner stored with the model (`unlearning.stored_increments`).

    Attributes:
        label: class that it knows nothing of by the owner's own training.
        weights: CID of its sealed file.
        base: what it is an increment of, 32 bytes in hexadecimal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    label: int = Field(ge=0)
    weights: str
    base: str = Field(pattern=r"^[0-9a-f]{64}$")
