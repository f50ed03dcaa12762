# SPDX-License-Identifier: Apache-2.0
"""The form of an architecture's weights, which every stored model of a federation must have.

A file is checked by its safetensors header, before any tensor is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import torch

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError, LearningError, UnusableWeightsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights, from_bytes, require_finite

HEADER_SLACK = 1 << 12
"""Number of bytes by which a file's header may exceed the header that `to_bytes` writes."""
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
"""Safetensors' names of tensor types, in the order in which it writes tensors."""
_TOLD = 3
"""Maximum number of tensors listed in an error."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Type, by its safetensors name, and shape of a tensor."""

    kind: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} {list(self.shape)}"


@dataclass(frozen=True, slots=True)
class WeightsForm:
    """The tensors of a model's weights, by name."""

    tensors: Mapping[str, TensorForm]

    @property
    def size(self) -> int:
        """Size in bytes of the file that `weights.to_bytes` writes."""
        return 8 + self._header_size + sum(map(_bytes_of, self.tensors.values()))

    @property
    def most_bytes(self) -> int:
        """Maximum size in bytes of a file of such weights."""
        return self.size + HEADER_SLACK

    @property
    def _header_size(self) -> int:
        order = [*SAFETENSORS_NAMES.values()]
        tensors = sorted(self.tensors.items(), key=lambda item: (order.index(item[1].kind), item[0]))
        entries, at = {}, 0
        for name, each in tensors:
            end = at + _bytes_of(each)
            entries[name] = {"dtype": each.kind, "shape": each.shape, "data_offsets": [at, end]}
            at = end
        header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
        return -(-len(header) // 8) * 8

    def read(self, data: bytes, whose: str) -> Weights:
        """Reads weights of this form from a file, all numbers finite.

        Raises UnusableWeightsError with the expectation and the finding.
        """
        self._require_same(dict(self._named(data, whose)), whose)
        try:
            weights = from_bytes(data)
        except (FormatError, LearningError) as error:
            raise UnusableWeightsError(f"{whose} cannot be used: {error}") from None
        self._require_same(_forms_of(weights), whose)
        return weights

    def require(self, weights: Weights, whose: str) -> None:
        """Checks that weights have this form and finite numbers.  Raises UnusableWeightsError."""
        self._require_same(_forms_of(weights), whose)
        try:
            require_finite(weights, whose)
        except LearningError as error:
            raise UnusableWeightsError(str(error)) from None

    def _named(self, data: bytes, whose: str) -> Iterator[tuple[str, TensorForm]]:
        """The tensors listed in a file's header."""
        size, most = int.from_bytes(data[:8], "little"), self._header_size + HEADER_SLACK
        if not 0 < size <= min(most, len(data) - 8):
            raise UnusableWeightsError(
                f"{whose} has {len(data)} bytes and a header of {size}; weights of this network have "
                f"one of at most {most}: store them as safetensors, without metadata."
            )
        try:
            for name, entry in parse_json(data[8 : 8 + size]).items():
                yield name, _form_in(entry)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnusableWeightsError(f"{whose} is not a safetensors file of weights ({error}).") from None

    def _require_same(self, found: Mapping[str, TensorForm], whose: str) -> None:
        names = dict.fromkeys((*self.tensors, *found))
        odd = [name for name in names if self.tensors.get(name) != found.get(name)]
        if not odd:
            return
        told = [
            f"{name[:80]!r} is {found.get(name, 'missing')}, expected {self.tensors.get(name, 'none')}"
            for name in odd[:_TOLD]
        ]
        raise UnusableWeightsError(
            f"{whose} has another form than the network (of a federation, learning.model): "
            f"{'; '.join(told)}{'; and more' if len(odd) > _TOLD else ''}."
        )


@lru_cache(maxsize=16)
def form_of(architecture: Architecture) -> WeightsForm:
    """The form of an architecture's weights.  Raises LearningError for an unstorable tensor type."""
    state = architecture.state()
    odd = [name for name, each in state.items() if each.dtype not in SAFETENSORS_NAMES]
    if odd:
        raise LearningError(
            f"{odd[0]!r} of model {architecture.name!r} is {state[odd[0]].dtype}; weights are stored as "
            f"{', '.join(SAFETENSORS_NAMES.values())}: choose one of these types."
        )
    return WeightsForm(
        {name: TensorForm(SAFETENSORS_NAMES[each.dtype], tuple(each.shape)) for name, each in state.items()}
    )


def _forms_of(weights: Weights) -> dict[str, TensorForm]:
    return {
        name: TensorForm(SAFETENSORS_NAMES.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape))
        for name, tensor in weights.items()
    }


def _form_in(entry: Any) -> TensorForm:
    """The form in a header entry.  Raises TypeError or KeyError."""
    kind, shape = entry["dtype"], entry["shape"]
    if not isinstance(kind, str) or not all(type(length) is int for length in shape):
        raise TypeError("an entry of its header is malformed")
    return TensorForm(kind[:16], tuple(shape))


def _bytes_of(form: TensorForm) -> int:
    return prod(form.shape) * next(
        kind.itemsize for kind, name in SAFETENSORS_NAMES.items() if name == form.kind
    )
