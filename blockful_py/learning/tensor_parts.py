# SPDX-License-Identifier: Apache-2.0
"""Weights whose tensors are read or computed part by part, so that no whole model is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

import torch
from torch import Tensor

KINDS: Mapping[torch.dtype, str] = {
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
DTYPES: Mapping[str, torch.dtype] = {kind: dtype for dtype, kind in KINDS.items()}
GROUP = 2**24
"""Bytes of tensors that are in memory at once where whole tensors are needed; a larger tensor is alone."""
PART = 2**18
"""Numbers of a part, unless a caller asks for parts of another length."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """Type, by its safetensors name, and shape of a tensor."""

    kind: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * DTYPES[self.kind].itemsize

    @property
    def is_floating(self) -> bool:
        return self.kind in DTYPES and DTYPES[self.kind].is_floating_point

    def __str__(self) -> str:
        return f"{self.kind} {list(self.shape)}"


class StreamedWeights(Mapping[str, Tensor]):
    """Weights that keep no tensor: each access reads or computes it again, whole or in parts.

    Attributes:
        forms: types and shapes by tensor.
        nbytes: maximum bytes that it keeps for later accesses.
        depth: computations between it and tensors in a file or in memory, which each access repeats.
    """

    def __init__(
        self,
        forms: Mapping[str, TensorForm],
        parts: Callable[[str, int], Iterable[Tensor]],
        nbytes: int = 0,
        depth: int = 0,
    ) -> None:
        """Takes a function that yields a tensor's numbers on the CPU, `count` at a time, fewer at its end."""
        self.forms = forms
        self.nbytes = nbytes
        self.depth = depth
        self._parts = parts

    def parts(self, name: str, count: int) -> Iterator[Tensor]:
        """A tensor's numbers in order, (count,) each, fewer at its end.  Raises KeyError."""
        return iter(self._parts(name, count) if self.forms[name].count else ())

    def __getitem__(self, name: str) -> Tensor:
        form = self.forms[name]
        tensor = torch.empty(form.shape, dtype=DTYPES[form.kind])
        fill(tensor, self.parts(name, PART))
        return tensor

    def __reduce__(self) -> tuple[type, tuple[dict[str, Tensor]]]:
        """Another process, which may not have the files, gets a state dict."""
        return dict, (dict(self),)

    def __iter__(self) -> Iterator[str]:
        return iter(self.forms)

    def __len__(self) -> int:
        return len(self.forms)


def parts_of(weights: Mapping[str, Tensor], name: str, count: int = PART) -> Iterator[Tensor]:
    """A tensor's numbers in order, (count,) each, fewer at its end; of a tensor in memory, views."""
    if isinstance(weights, StreamedWeights):
        return weights.parts(name, count)
    tensor = weights[name].detach()
    return iter(torch.split(tensor.reshape(-1), count) if tensor.numel() else ())


def forms_of(weights: Mapping[str, Tensor]) -> Mapping[str, TensorForm]:
    """Types and shapes by tensor; a type that cannot be stored has torch's name."""
    if isinstance(weights, StreamedWeights):
        return weights.forms
    return {
        name: TensorForm(KINDS.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape))
        for name, tensor in weights.items()
    }


def computed(
    forms: Mapping[str, TensorForm],
    sources: Iterable[Mapping[str, Tensor]],
    parts: Callable[[str, int], Iterable[Tensor]],
) -> StreamedWeights:
    """Weights whose parts are computed from parts of other weights wherever they are read."""
    listed = tuple(sources)
    return StreamedWeights(forms, parts, sum(map(_kept_bytes, listed)), 1 + max(map(depth_of, listed)))


def made_when_read(
    forms: Mapping[str, TensorForm], make: Callable[[], Mapping[str, Tensor]]
) -> StreamedWeights:
    """Weights that are made, whole, at the first access, and stay in memory."""
    made = cache(make)
    return StreamedWeights(forms, lambda name, count: parts_of(made(), name, count))


def depth_of(weights: Mapping[str, Tensor]) -> int:
    """See `StreamedWeights`; 0 for tensors in memory."""
    return weights.depth if isinstance(weights, StreamedWeights) else 0


def _kept_bytes(weights: Mapping[str, Tensor]) -> int:
    """Bytes that weights keep in memory."""
    if isinstance(weights, StreamedWeights):
        return weights.nbytes
    return sum(tensor.nbytes for tensor in weights.values())


def fill(tensor: Tensor, parts: Iterable[Tensor]) -> None:
    """Writes parts of all of a contiguous tensor's numbers into it."""
    flat, at = tensor.detach().view(-1), 0
    for part in parts:
        flat[at : at + len(part)].copy_(part)
        at += len(part)


def grouped(forms: Mapping[str, TensorForm]) -> Iterator[list[str]]:
    """Names, in order, in groups of at most GROUP bytes, or of one tensor."""
    group, size = list[str](), 0
    for name, form in forms.items():
        if group and size + form.nbytes > GROUP:
            yield group
            group, size = [], 0
        group.append(name)
        size += form.nbytes
    yield group
