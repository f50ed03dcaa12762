# SPDX-License-Identifier: Apache-2.0
"""Low-rank adapters (LoRA, Hu et al., 2021) applied to tensors of their base, the same bits everywhere.

W' = W + scale B A, with scale = alpha / r.  Products of two float32 numbers are exact in float64; sums run in
the order of the rank, so no processor's order or fused operation matters.  PEFT multiplies in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.weights import Weights

PREFIX, DOWN, UP, WEIGHT = "base_model.model.", ".lora_A.weight", ".lora_B.weight", ".weight"
"""Parts of the names of PEFT's tensors: A of a layer, (r, in), and B, (out, r)."""


class AdaptedTensors(Mapping[str, Tensor]):
    """A base's tensors by name, with an adapter's change; each is computed when it is accessed."""

    def __init__(self, base: Weights, adapter: Weights, scale: float) -> None:
        """Takes the tensors of both by name.

        Raises LearningError for an adapter with tensors other than A and B of layers that the base has.
        """
        self._base, self._adapter, self._scale = base, adapter, scale
        layers = {name.removesuffix(end) for name in adapter for end in (DOWN, UP) if name.endswith(end)}
        known = {layer + end for layer in layers for end in (DOWN, UP)}
        if odd := sorted(known ^ {*adapter}):
            raise LearningError(f"the adapter's {odd[0][:80]!r} is none of a pair of lora_A and lora_B.")
        self._layers = {layer.removeprefix(PREFIX) + WEIGHT: layer for layer in layers}
        if len(self._layers) < len(layers):
            raise LearningError(f"the adapter has a layer twice, with and without {PREFIX!r}.")
        if odd := sorted(self._layers.keys() - base.keys()):
            raise LearningError(f"the adapter changes {odd[0][:80]!r}, which its base does not have.")

    def __getitem__(self, name: str) -> Tensor:
        weight, layer = self._base[name], self._layers.get(name)
        if layer is None:
            return weight
        down, up = self._adapter[layer + DOWN], self._adapter[layer + UP]
        if up.dim() != 2 or down.dim() != 2 or (len(up), down.shape[-1]) != tuple(weight.shape):
            raise LearningError(f"the adapter's change of {name[:80]!r} has another shape than its base.")
        return (weight.double() + product(up, down) * self._scale).to(weight.dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


def product(up: Tensor, down: Tensor) -> Tensor:
    """B A, float64 (out, in), of B (out, r) and A (r, in), summed in the order of the rank.

    Raises LearningError unless both have the same rank and at most float32 numbers.
    """
    short = {torch.float32, torch.bfloat16, torch.float16}
    if up.shape[1] != len(down) or not {up.dtype, down.dtype} <= short:
        raise LearningError("an adapter's factors have different ranks, or numbers wider than float32.")
    total = torch.zeros(len(up), down.shape[1], dtype=torch.float64)
    for column, row in zip(up.double().T, down.double(), strict=True):
        total += torch.outer(column, row)
    return total
