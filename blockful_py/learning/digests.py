# SPDX-License-Identifier: Apache-2.0
"""The stand-in for the weights of a model that was made elsewhere: a SHA-256 of each of its tensors.

Such a federation stores and seals these digests as it does weights, so a reader with the model's files and
the data key can compare them with the adopted ones, tensor by tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch

from blockful_py.errors import LearningError, UnusableWeightsError
from blockful_py.learning.form import Ranges, WeightsForm
from blockful_py.learning.tensor_parts import TensorForm
from blockful_py.learning.weights import Weights, from_bytes
from blockful_py.storage.bounds import MAX_DIGESTS_BYTES
from blockful_py.types import Bytes32

DIGEST = TensorForm("U8", (32,))


def weights_of(digests: Mapping[str, Bytes32]) -> Weights:
    """Digests by tensor's name as tensors, uint8 (32,)."""
    return {name: torch.tensor(list(digests[name]), dtype=torch.uint8) for name in sorted(digests)}


@dataclass(frozen=True, slots=True)
class DigestsForm(WeightsForm):
    """The form of digests, whose number and names differ from model to model."""

    tensors: Mapping[str, TensorForm] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return MAX_DIGESTS_BYTES

    @property
    def most_bytes(self) -> int:
        return MAX_DIGESTS_BYTES

    def read(self, file: Ranges, whose: str) -> Weights:
        data = file.read(0, MAX_DIGESTS_BYTES + 1)
        if len(data) > MAX_DIGESTS_BYTES:
            raise UnusableWeightsError(f"{whose} has more than {MAX_DIGESTS_BYTES} bytes of digests.")
        try:
            weights = from_bytes(bytes(data))
        except LearningError as error:
            raise UnusableWeightsError(f"{whose} cannot be used: {error}") from None
        self.require(weights, whose)
        return weights

    def require(self, weights: Weights, whose: str) -> None:
        odd = [n for n, each in weights.items() if each.dtype != torch.uint8 or tuple(each.shape) != (32,)]
        if odd or not weights:
            found = f"{odd[0][:80]!r} is none" if odd else "there is none"
            raise UnusableWeightsError(f"{whose} has to be SHA-256 digests, uint8 [32]: {found}.")
