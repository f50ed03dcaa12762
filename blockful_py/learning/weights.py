# SPDX-License-Identifier: Apache-2.0
"""Weights of a model: a state dict, its safetensors bytes, and its float32 vector."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import torch as safetensors_torch
from torch import Tensor

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.sums import aggregate_sums, is_sums
from blockful_py.learning.tensor_parts import (
    DTYPES,
    StreamedWeights,
    TensorForm,
    computed,
    forms_of,
    parts_of,
)
from blockful_py.types import Bytes32

Weights = Mapping[str, Tensor]
"""State dict: tensors by name, float32 parameters and buffers, and int64 counters.

Models of sums have whole numbers alone (`learning.sums`).
"""

PIECE = 2**20
"""Maximum bytes of a piece of a file."""

VARIANCE_FLOOR = 0.25
"""Minimum share of a running variance that a change must leave (figures: docs/reference/learning.md)."""

Vector = NDArray[np.float32]
"""float32 (D,): all D floating-point numbers of a model, tensor after tensor by ascending name."""


def to_bytes(weights: Weights) -> bytes:
    """The weights as safetensors; equal weights give equal bytes."""
    return b"".join(pieces_of(weights))


def pieces_of(weights: Weights) -> Iterator[bytes]:
    """The bytes of `to_bytes` in pieces of at most PIECE bytes, copied from the tensors one by one.

    The header is the one that safetensors writes: by type in the order of KINDS, then by name.

    Raises LearningError: a tensor's type cannot be stored.
    """
    forms = forms_of(weights)
    if odd := [name for name, each in forms.items() if each.kind not in DTYPES]:
        raise LearningError(f"{odd[0]!r} is {forms[odd[0]].kind}, which cannot be stored.")
    yield header_of(forms)
    for name in stored_order(forms):
        for part in parts_of(weights, name, PIECE // DTYPES[forms[name].kind].itemsize):
            yield part.cpu().contiguous().view(torch.uint8).numpy().tobytes()


def digest_of(weights: Weights) -> Bytes32:
    """SHA-256 of the bytes of `to_bytes`."""
    digest = hashlib.sha256()
    for piece in pieces_of(weights):
        digest.update(piece)
    return digest.digest()


def stored_order(forms: Mapping[str, TensorForm]) -> list[str]:
    """Names in the order in which a file has their tensors."""
    order = [*DTYPES]
    return sorted(forms, key=lambda name: (order.index(forms[name].kind), name))


def header_of(forms: Mapping[str, TensorForm]) -> bytes:
    """The beginning of the safetensors file of such tensors."""
    entries, at = {}, 0
    for name in stored_order(forms):
        form = forms[name]
        end = at + form.nbytes
        entries[name] = {"dtype": form.kind, "shape": [*form.shape], "data_offsets": [at, end]}
        at = end
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header


def from_bytes(data: bytes, device: torch.device | None = None) -> Weights:
    """Reads the output of `to_bytes`, with every number finite.

    Raises:
        FormatError: truncated, or not safetensors.
        LearningError: a weight is NaN or infinite.
    """
    try:
        loaded = safetensors_torch.load(data)
    except SafetensorError as error:
        raise FormatError(
            f"{len(data)} bytes are not a whole safetensors file ({error}): fetch the model again."
        ) from None
    weights = {name: loaded[name].to(device) for name in sorted(loaded)}
    require_finite(weights, "a stored model")
    return weights


def detached(weights: Weights) -> Weights:
    """A copy without gradients that shares no memory with a module; weights that are streamed share none."""
    if isinstance(weights, StreamedWeights):
        return weights
    return {name: weights[name].detach().clone() for name in sorted(weights)}


def require_finite(weights: Weights, whose: str) -> None:
    """Checks that all numbers are finite, and reads all.  Raises LearningError, naming the tensor."""
    for name in weights:
        if not all(_is_finite(part) for part in parts_of(weights, name)):
            raise LearningError(
                f"{whose} has NaN or infinite values in {name!r}: refuse it, or train it with a lower rate."
            )


def _is_finite(part: Tensor) -> bool:
    return not part.is_floating_point() or bool(torch.isfinite(part).all())


def require_same_form(models: Mapping[str, Weights]) -> None:
    """Checks that all models have tensors of the same names, shapes and types.  Raises LearningError."""
    forms = {name: forms_of(weights) for name, weights in models.items()}
    first = next(iter(forms), None)
    for name, form in forms.items():
        if first is not None and form != forms[first]:
            raise LearningError(
                f"models {first!r} and {name!r} have different architectures; "
                "a graph can hold one architecture only."
            )


def odd_tensor(expected: Weights, found: Weights) -> str | None:
    """The first tensor of another shape than expected, such as `x should be (2,), is absent`, or None."""
    shapes = [{name: form.shape for name, form in forms_of(each).items()} for each in (expected, found)]
    odd = min((name for name, _ in shapes[0].items() ^ shapes[1].items()), default=None)
    if odd is None:
        return None
    wanted, given = (each.get(odd, "absent") for each in shapes)
    return f"{odd} should be {wanted}, is {given}"


def flatten(weights: Weights) -> Vector:
    """The floating-point tensors as a vector, float32 (D,), on the CPU; integer tensors are omitted."""
    parts = [weights[name].detach().cpu().to(torch.float32).reshape(-1) for name in _floating(weights)]
    vector: Vector = torch.cat(parts).numpy()
    return vector


def unflatten(vector: Vector, like: Weights) -> Weights:
    """Weights in the shapes and dtypes and on the device of `like`; the inverse of `flatten`.

    Args:
        vector: float32 (D,).
        like: weights with D floating-point numbers; their integer tensors are copied.

    Raises LearningError: the vector has another length.
    """
    names = _floating(like)
    sizes = [forms_of(like)[name].count for name in names]
    expected = sum(sizes)
    if vector.shape != (expected,):
        raise LearningError(f"expected a vector of {expected} weights, found shape {vector.shape}.")
    parts = dict(zip(names, torch.split(torch.from_numpy(vector.copy()), sizes), strict=True))
    return {
        name: (parts[name].reshape(tensor.shape).to(tensor) if name in parts else tensor.clone())
        for name, tensor in like.items()
    }


def with_sound_variances(weights: Weights, old: Weights) -> Weights:
    """Lifts running variances of batch normalisation to at least VARIANCE_FLOOR of their old values.

    A sum of changes may leave a variance near zero or negative, and the layer divides by its root.

    Args:
        old: state dict of the same form, before the change.
    """
    return {name: with_sound_variance(name, tensor, old[name]) for name, tensor in weights.items()}


def with_sound_variance(name: str, new: Tensor, old: Tensor) -> Tensor:
    """A tensor of `with_sound_variances`, or a part of it."""
    return torch.maximum(new, VARIANCE_FLOOR * old) if name.endswith("running_var") else new


def equal(left: Weights, right: Weights) -> bool:
    """Whether two models have the same bits."""
    return {**forms_of(left)} == {**forms_of(right)} and all(
        torch.equal(one, other)
        for name in left
        for one, other in zip(parts_of(left, name), parts_of(right, name), strict=True)
    )


def _floating(weights: Weights) -> list[str]:
    forms = forms_of(weights)
    return [name for name in sorted(forms) if forms[name].is_floating]


def mean(models: Sequence[Weights]) -> Weights:
    """Element-wise mean of one or more models, summed in order; integer tensors are the first model's.

    Computed where it is read, from models that are in memory or in files; else whole, since each access to a
    mean of means would compute all of them again.
    """

    def parts(name: str, count: int) -> Iterator[Tensor]:
        for first, *others in zip(*(parts_of(each, name, count) for each in models), strict=True):
            total = first.clone()
            if not total.is_floating_point():
                yield total
                continue
            for each in others:
                total += each
            yield total / len(models)

    streamed = computed(forms_of(models[0]), models, parts)
    return streamed if streamed.depth == 1 else dict(streamed)


def aggregate(references: Sequence[Weights]) -> Weights:
    """Element-wise mean of the N references, `W~ = (1/N) sum of w_n` (paper, eq. 2).

    Returns a state dict in the references' form; integer tensors come from the first reference.  Models of
    sums are added up as `learning.sums` states.

    Raises LearningError: no reference, references of different architectures, or sums that are too large.
    """
    if not references:
        raise LearningError("an aggregate needs at least one reference; roots start from initial weights.")
    require_same_form({f"reference {i}": weights for i, weights in enumerate(references, start=1)})
    if is_sums(references[0]):
        return aggregate_sums(references)
    return mean(references)
