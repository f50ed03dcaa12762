# SPDX-License-Identifier: Apache-2.0
"""The form of an architecture's weights, which every stored model of a federation must have.

A file is checked by its safetensors header, before any tensor is read, and read by ranges: no more of it is
in memory than a part of a tensor and the file's own `Ranges.nbytes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import torch
from torch import Tensor

from blockful_py.bounded_json import parse_json
from blockful_py.errors import LearningError, UnusableWeightsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.tensor_parts import DTYPES, KINDS, StreamedWeights, TensorForm, forms_of
from blockful_py.learning.weights import Weights, header_of, require_finite

HEADER_SLACK = 1 << 12
"""Number of bytes by which a file's header may exceed the header that `to_bytes` writes."""
MOST_HEADER = 1 << 24
"""Maximum bytes of the header of a file whose form is unknown."""
_TOLD = 3
"""Maximum number of tensors listed in an error."""


class Ranges(Protocol):
    """The content of a file."""

    def read(self, begin: int, end: int) -> bytearray:
        """Its bytes from `begin` to `end`, fewer where it ends before."""

    @property
    def nbytes(self) -> int:
        """Maximum bytes of it that are kept in memory."""


class InMemory(bytearray):
    """The content of a file that is in memory."""

    def read(self, begin: int, end: int) -> bytearray:
        return self[begin:end]

    @property
    def nbytes(self) -> int:
        return len(self)


@dataclass(frozen=True, slots=True)
class WeightsForm:
    """The tensors of a model's weights, by name."""

    tensors: Mapping[str, TensorForm]

    @property
    def size(self) -> int:
        """Size in bytes of the file that `weights.to_bytes` writes."""
        return len(self._header) + sum(form.nbytes for form in self.tensors.values())

    @property
    def most_bytes(self) -> int:
        """Maximum size in bytes of a file of such weights."""
        return self.size + HEADER_SLACK

    @property
    def _header(self) -> bytes:
        return header_of(self.tensors)

    def read(self, file: Ranges, whose: str) -> Weights:
        """Weights of this form, all numbers finite, which read the file's tensors when they are accessed.

        Checks the header first, then every tensor.  A later access reads the file again.

        Raises UnusableWeightsError with the expectation and the finding.
        """
        placed, end = self._placed(file.read(0, len(self._header) + HEADER_SLACK), whose)

        def parts(name: str, count: int) -> Iterator[Tensor]:
            return _parts(file, self.tensors[name], placed[name], count, whose)

        stored = {name: self.tensors[name] for name in placed}
        self.require(StreamedWeights(stored, parts), whose)
        if file.read(end, end + 1):
            raise UnusableWeightsError(
                f"{whose} cannot be used: it goes on after byte {end}, where it ends by its header: fetch it "
                "again."
            )
        return StreamedWeights({name: stored[name] for name in sorted(stored)}, parts, file.nbytes)

    def require(self, weights: Weights, whose: str) -> None:
        """Checks that weights have this form and finite numbers.  Raises UnusableWeightsError."""
        self._require_same(forms_of(weights), whose)
        try:
            require_finite(weights, whose)
        except LearningError as error:
            raise UnusableWeightsError(str(error)) from None

    def _placed(self, data: bytearray, whose: str) -> tuple[dict[str, int], int]:
        """Where each tensor begins in a file, in order, and the file's end, by its header, without gaps."""
        size, most = int.from_bytes(data[:8], "little"), len(self._header) - 8 + HEADER_SLACK
        if not 0 < size <= min(most, len(data) - 8):
            raise UnusableWeightsError(
                f"{whose} has {len(data)} bytes or more, and a header of {size}; weights of this network "
                f"have one of at most {most}: store them as safetensors, without metadata."
            )
        forms, spans = _entries(data[8 : 8 + size], whose)
        self._require_same(forms, whose)
        placed, at = dict[str, int](), 0
        for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
            if (begin, end) != (at, at + forms[name].nbytes):
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


def read_weights(file: Ranges, whose: str) -> Weights:
    """Weights of the form that the file's header states; otherwise as `WeightsForm.read`."""
    size = int.from_bytes(file.read(0, 8), "little")
    if size > MOST_HEADER:
        raise UnusableWeightsError(f"{whose} is not a safetensors file: its header would have {size} bytes.")
    forms, _ = _entries(file.read(8, 8 + size), whose)
    if odd := [name for name, form in forms.items() if form.kind not in DTYPES]:
        raise UnusableWeightsError(f"{whose} has {odd[0][:80]!r} of type {forms[odd[0]].kind!r}.")
    return WeightsForm(forms).read(file, whose)


def _entries(header: bytearray, whose: str) -> tuple[dict[str, TensorForm], dict[str, tuple[int, int]]]:
    """Form, and first byte and end, of each tensor in a header.  Raises UnusableWeightsError."""
    try:
        entries = parse_json(bytes(header), object_pairs_hook=_unique)
        forms = {name: _form_in(entry) for name, entry in entries.items()}
        return forms, {name: _span_in(entry) for name, entry in entries.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnusableWeightsError(f"{whose} is not a safetensors file of weights ({error}).") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a header.  Raises ValueError if it names something twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it names {twice[:80]!r} twice")
    return found


def _form_in(entry: Any) -> TensorForm:
    """The form in a header entry.  Raises TypeError or KeyError."""
    kind, shape = entry["dtype"], entry["shape"]
    if not isinstance(kind, str) or not all(type(length) is int and length >= 0 for length in shape):
        raise TypeError("an entry of its header is malformed")
    return TensorForm(kind[:16], tuple(shape))


def _span_in(entry: Any) -> tuple[int, int]:
    """First byte and end of a tensor in a header entry.  Raises TypeError, ValueError or KeyError."""
    begin, end = entry["data_offsets"]
    if type(begin) is not int or type(end) is not int:
        raise TypeError("an entry of its header is malformed")
    return begin, end


def _parts(file: Ranges, form: TensorForm, begin: int, count: int, whose: str) -> Iterator[Tensor]:
    """The numbers of a tensor that begins at a byte of a file, `count` at a time."""
    dtype, end = DTYPES[form.kind], begin + form.nbytes
    for at in range(begin, end, count * dtype.itemsize):
        until = min(at + count * dtype.itemsize, end)
        data = file.read(at, until)
        if len(data) < until - at:
            raise UnusableWeightsError(
                f"{whose} cannot be used: it has {at + len(data)} bytes, and by its header more: fetch it "
                "again."
            )
        yield torch.frombuffer(data, dtype=dtype)
