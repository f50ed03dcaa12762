# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of models that are computed from others without data: merges, casts, 8-bit rows.

Each operation is rounded on its own, so every machine gets the same bits.  mergekit 0.1.5 computes a merge in
the same order, but lets the processor fuse a multiplication with the addition after it: without that
(ATEN_CPU_CAPABILITY=default) its bits are the same, with it a number may differ in its last bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.tensor_parts import KINDS
from blockful_py.types import Bytes32

TYPES: Mapping[str, torch.dtype] = {kind: dtype for dtype, kind in KINDS.items() if dtype.is_floating_point}
"""Floating-point types by safetensors' names."""
TensorOf = Callable[[str], Tensor]
"""Gives a tensor by name."""
LEAST = 1e-8
"""Least sum of weights by which task arithmetic is divided."""
FULL = 127.0
"""Largest magnitude of an 8-bit row."""
ROWS, SCALES, KIND = ".weight", ".SCB", ".weight_format"
"""Ends of the names of the three tensors of a layer in bitsandbytes' 8-bit form."""


def linear_merge(parts: Sequence[Tensor], weights: Sequence[float], normalise: bool, dtype: str) -> Tensor:
    """sum(weight * part) in the order given, divided by sum(weight) if normalised (Wortsman et al., 2022).

    Parts are rounded to `dtype` first; sums are float32, or float64 for "F64"; the result is a `dtype`.
    Raises LearningError unless all parts are floating-point tensors of one shape and the sum is not zero.
    """
    _require_alike(parts, weights)
    kind = TYPES[dtype]
    wide = torch.float64 if kind is torch.float64 else torch.float32
    factors = [torch.tensor(each, dtype=wide) for each in weights]
    total = torch.zeros((), dtype=wide)
    result = torch.zeros(parts[0].shape, dtype=wide)
    for part, factor in zip(parts, factors, strict=True):
        result += part.to(kind).to(wide) * factor
        total = total + factor
    if normalise:
        if not total.isfinite() or not total:
            raise LearningError("the weights of its parts add up to nothing.")
        result /= total
    return result.to(kind)


def task_arithmetic(
    base: Tensor,
    parts: Sequence[Tensor],
    weights: Sequence[float],
    normalise: bool,
    factor: float,
    dtype: str,
) -> Tensor:
    """base + factor * sum(weight * (part - base)), the sum divided by sum(weight) if normalised.

    Ilharco et al. (2023), as mergekit 0.1.5 does: tensors and weights are rounded to `dtype` first, then
    each operation's result.  The sum is made in the order given, in float32 (float64 for "F64"), and rounded
    once.  A sum of weights below 1e-8 divides nothing.  Raises LearningError as `linear_merge`.
    """
    _require_alike((base, *parts), (0.0, *weights))
    kind = TYPES[dtype]
    wide = torch.float64 if kind is torch.float64 else torch.float32
    start, total = base.to(kind), torch.zeros((), dtype=wide)
    mixed = torch.zeros(base.shape, dtype=wide)
    for part, weight in zip(parts, weights, strict=True):
        share = torch.tensor(weight, dtype=kind)
        mixed += ((part.to(kind) - start) * share).to(wide)
        total = total + share.to(wide)
    result, divisor = mixed.to(kind), total.to(kind)
    if normalise and divisor.abs() >= LEAST:
        result = result / divisor
    return start + (result if factor == 1 else result * factor)


def _require_alike(parts: Sequence[Tensor], weights: Sequence[float]) -> None:
    if not parts or len(parts) != len(weights):
        raise LearningError(f"a merge of {len(parts)} parts has {len(weights)} weights.")
    if len({each.shape for each in parts}) > 1 or not all(each.is_floating_point() for each in parts):
        raise LearningError("its parts differ in shape, or are no floating-point numbers.")


def int8_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix in 8-bit rows (int8) and their scales (float32), as bitsandbytes 0.50.2 computes on a CPU.

    round(w * (127 / max|row|)) of w rounded to float16 (Dettmers et al., 2022); a row of zeros stays zeros.
    Raises LearningError for numbers that are not finite in float16.
    """
    half = matrix.to(torch.float16)
    scales = half.abs().amax(dim=1).to(torch.float32)
    if not scales.isfinite().all():
        raise LearningError("it has numbers that float16 cannot hold.")
    factors = torch.where(scales == 0, torch.zeros_like(scales), FULL / scales)
    return (half.to(torch.float32) * factors[:, None]).round().to(torch.int8), scales


def origin(name: str) -> str:
    """The parent's tensor from which a tensor of a quantised model follows."""
    return next((name.removesuffix(end) + ROWS for end in (SCALES, KIND) if name.endswith(end)), name)


def quantised(name: str, form: Mapping[str, str], source: Mapping[str, Tensor], dtype: str) -> Tensor:
    """A tensor of a quantised model, whose `form` has types by name, from its parent's tensors.

    It is rounded to `dtype` first; a layer that has scales in `form` gets 8-bit rows.  Raises LearningError
    for a tensor that does not follow from the parent's by these two steps.
    """
    original = origin(name)
    if original not in source or not (found := source[original]).is_floating_point():
        raise LearningError(f"tensor {name[:80]!r} follows from none of its parent's.")
    tensor = found.to(TYPES[dtype])
    layer = original.removesuffix(ROWS)
    if layer + SCALES in form and tensor.dim() == 2:
        rows, scales = int8_rows(tensor)
        made = {layer + SCALES: scales, layer + KIND: torch.zeros((), dtype=torch.uint8)}.get(name, rows)
    else:
        made = tensor.to(TYPES.get(form[name], tensor.dtype))
    if KINDS[made.dtype] != form[name]:
        raise LearningError(f"tensor {name[:80]!r} is {form[name]}, and would be {KINDS[made.dtype]}.")
    return made


def tensor_digest(tensor: Tensor) -> Bytes32:
    """SHA-256 of a tensor's type, shape and bytes, as `adopt.tensor_files` computes it from a file.

    Raises LearningError for a type that is not compared here, such as 8-bit floating point.
    """
    if tensor.dtype not in KINDS:
        raise LearningError(f"numbers of {tensor.dtype} are not compared here.")
    digest = hashlib.sha256(f"{KINDS[tensor.dtype]}{list(tensor.shape)}".encode())
    if tensor.numel():
        digest.update(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()
