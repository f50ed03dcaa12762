# SPDX-License-Identifier: Apache-2.0
"""The form of an architecture's weights, which every stored model of a federation must have.

A file is checked by its safetensors header, before any tensor is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import torch
from torch import Tensor

from blockful_py.bounded_json import parse_json
from blockful_py.errors import LearningError, UnusableWeightsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import KINDS, Weights, header_of, require_finite

HEADER_SLACK = 1 << 12
"""Number of bytes by which a file's header may exceed the header that `to_bytes` writes."""
_DTYPES = {kind: dtype for dtype, kind in KINDS.items()}
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
        return len(self._header) + sum(map(_bytes_of, self.tensors.values()))

    @property
    def most_bytes(self) -> int:
        """Maximum size in bytes of a file of such weights."""
        return self.size + HEADER_SLACK

    @property
    def _header(self) -> bytes:
        order = [*KINDS.values()]
        tensors = sorted(self.tensors.items(), key=lambda item: (order.index(item[1].kind), item[0]))
        return header_of((name, each.kind, each.shape) for name, each in tensors)

    def read(self, pieces: Iterable[bytes], whose: str) -> Weights:
        """Reads weights of this form from the pieces of a file, all numbers finite.

        The tensors share the memory that the file is read into, and the header is checked before the rest is
        read.

        Raises UnusableWeightsError with the expectation and the finding.
        """
        source, data = iter(pieces), bytearray()
        for piece in source:
            data += piece
            if len(data) >= len(self._header) + HEADER_SLACK:
                break
        placed, end = self._placed(data, whose)
        for piece in source:
            data += piece
        if len(data) != end:
            raise UnusableWeightsError(
                f"{whose} cannot be used: it has {len(data)} bytes, and by its header {end}: fetch it again."
            )
        weights = {name: _tensor(data, self.tensors[name], placed[name]) for name in sorted(placed)}
        self.require(weights, whose)
        return weights

    def require(self, weights: Weights, whose: str) -> None:
        """Checks that weights have this form and finite numbers.  Raises UnusableWeightsError."""
        self._require_same(_forms_of(weights), whose)
        try:
            require_finite(weights, whose)
        except LearningError as error:
            raise UnusableWeightsError(str(error)) from None

    def _placed(self, data: bytearray, whose: str) -> tuple[dict[str, int], int]:
        """Where each tensor begins in a file, and the file's end, by its header, which leaves no gaps."""
        size, most = int.from_bytes(data[:8], "little"), len(self._header) - 8 + HEADER_SLACK
        if not 0 < size <= min(most, len(data) - 8):
            raise UnusableWeightsError(
                f"{whose} has {len(data)} bytes or more, and a header of {size}; weights of this network "
                f"have one of at most {most}: store them as safetensors, without metadata."
            )
        try:
            entries = parse_json(bytes(data[8 : 8 + size]))
            forms = {name: _form_in(entry) for name, entry in entries.items()}
            spans = {name: _span_in(entry) for name, entry in entries.items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UnusableWeightsError(f"{whose} is not a safetensors file of weights ({error}).") from None
        self._require_same(forms, whose)
        placed, at = dict[str, int](), 0
        for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
            if (begin, end) != (at, at + _bytes_of(forms[name])):
                raise UnusableWeightsError(f"{whose} cannot be used: {name[:80]!r} is not in its place.")
            placed[name], at = 8 + size + begin, end
        return placed, 8 + size + at

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
    odd = [name for name, each in state.items() if each.dtype not in KINDS]
    if odd:
        raise LearningError(
            f"{odd[0]!r} of model {architecture.name!r} is {state[odd[0]].dtype}; weights are stored as "
            f"{', '.join(KINDS.values())}: choose one of these types."
        )
    return WeightsForm(
        {name: TensorForm(KINDS[each.dtype], tuple(each.shape)) for name, each in state.items()}
    )


def _forms_of(weights: Weights) -> dict[str, TensorForm]:
    return {
        name: TensorForm(KINDS.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape))
        for name, tensor in weights.items()
    }


def _form_in(entry: Any) -> TensorForm:
    """The form in a header entry.  Raises TypeError or KeyError."""
    kind, shape = entry["dtype"], entry["shape"]
    if not isinstance(kind, str) or not all(type(length) is int for length in shape):
        raise TypeError("an entry of its header is malformed")
    return TensorForm(kind[:16], tuple(shape))


def _span_in(entry: Any) -> tuple[int, int]:
    """First byte and end of a tensor in a header entry.  Raises TypeError, ValueError or KeyError."""
    begin, end = entry["data_offsets"]
    if type(begin) is not int or type(end) is not int:
        raise TypeError("an entry of its header is malformed")
    return begin, end


def _tensor(data: bytearray, form: TensorForm, begin: int) -> Tensor:
    """A tensor in the memory of a file, or a copy where the file does not align it."""
    dtype, count = _DTYPES[form.kind], prod(form.shape)
    if not count:
        return torch.empty(form.shape, dtype=dtype)
    if begin % dtype.itemsize:
        data, begin = data[begin : begin + _bytes_of(form)], 0
    return torch.frombuffer(data, dtype=dtype, count=count, offset=begin).reshape(form.shape)


def _bytes_of(form: TensorForm) -> int:
    return prod(form.shape) * _DTYPES[form.kind].itemsize
