# SPDX-License-Identifier: Apache-2.0
"""The form of an architecture's weights: which tensors a stored model has, and so its size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import torch

from blockful_py.learning.models import Architecture

SAFETENSORS_NAMES: Mapping[torch.dtype, str] = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""Types of tensors as headers of safetensors name them, in the order in which it writes them."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Type and shape of a tensor."""

    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes of its numbers."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class WeightsForm:
    """The tensors of a model's weights, by name."""

    tensors: Mapping[str, TensorForm]

    @property
    def size(self) -> int:
        """Bytes of the file that `weights.to_bytes` makes of such weights."""
        order = [*SAFETENSORS_NAMES]
        tensors = sorted(self.tensors.items(), key=lambda item: (order.index(item[1].dtype), item[0]))
        entries, at = {}, 0
        for name, each in tensors:
            place = {"dtype": SAFETENSORS_NAMES[each.dtype], "shape": each.shape}
            entries[name] = {**place, "data_offsets": [at, at + each.size]}
            at += each.size
        header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
        return 8 + -(-len(header) // 8) * 8 + at


@lru_cache(maxsize=16)
def form_of(architecture: Architecture) -> WeightsForm:
    """The form of an architecture's weights."""
    return WeightsForm(
        {name: TensorForm(each.dtype, tuple(each.shape)) for name, each in architecture.state().items()}
    )
