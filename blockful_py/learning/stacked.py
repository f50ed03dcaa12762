# SPDX-License-Identifier: Apache-2.0
"""Networks that compute M models at once: every tensor has M as an additional first dimension.

Each model's numbers come only from matrix products of its own shapes (`torch.bmm`, one product per model) and
from exact or element-wise operations.  On a CPU its bits therefore do not depend on the models stacked with
it (tests/learning/test_together.py).  Grouped convolutions, which `torch.func.vmap` uses too, are a quarter
faster but lack this property.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights, require_same_form

LARGEST_STACK = 8
"""Maximum number of models in a stack; more are no faster and need more memory."""

LARGEST_IMAGE = 16 * 16
"""Maximum number of pixels for which stacks are faster on a CPU."""

Stack = Mapping[str, Tensor]
"""Weights of M models by name, each tensor (M, ...)."""


class Form(Protocol):
    """One architecture, computed for M models at once, with float32 weights."""

    def packed(self, weights: Stack) -> Stack:
        """Converts stacked state dicts, (M, ...), to the layout that `logits` reads."""
        ...

    def unpacked(self, stack: Stack) -> Stack:
        """The inverse of `packed`."""
        ...

    def prepared(self, x: Tensor) -> Tensor:
        """Converts inputs x (n, channels, height, width) to inputs of the first layer, float32 (n, ...)."""
        ...

    def logits(self, stack: Stack, prepared: Tensor) -> Tensor:
        """Logits, float32 (M, B, classes), of prepared samples (M, B, ...).

        On a CPU, a model's bits are the same in any stack.
        """
        ...


def stacks_well(architecture: Architecture, device: torch.device) -> bool:
    """Whether a stack is faster than its models one by one (docs/reference/performance.md)."""
    return (
        architecture.name in FORMS
        and device.type == "cpu"
        and math.prod(architecture.input_shape[1:]) <= LARGEST_IMAGE
    )


def stack_weights(architecture: Architecture, models: Mapping[str, Weights], device: torch.device) -> Stack:
    """Stacks M state dicts: each tensor (...) becomes (M, ...), on the device.

    Raises LearningError: weights of another architecture.
    """
    first = next(iter(models.values()))
    architecture.module(first, torch.device("cpu"))
    require_same_form(models)
    return {name: torch.stack([weights[name] for weights in models.values()]).to(device) for name in first}


class StackedCnn:
    """The network of `models.cnn`; convolutions multiply patches (M, B H W, 9 C) by weights (M, 9 C, out)."""

    def packed(self, weights: Stack) -> Stack:
        return {
            name: _to_columns(tensor) if tensor.dim() == 5 else tensor for name, tensor in weights.items()
        }

    def unpacked(self, stack: Stack) -> Stack:
        return {
            name: _from_columns(tensor) if name in CONVOLUTIONS else tensor for name, tensor in stack.items()
        }

    def prepared(self, x: Tensor) -> Tensor:
        """Patches, float32 (n, H, W, 9 C)."""
        return _patches(x.permute(0, 2, 3, 1))

    def logits(self, stack: Stack, prepared: Tensor) -> Tensor:
        count, batch, height, width, patch = prepared.shape
        rows = prepared.reshape(count, batch * height * width, patch)
        h = _applied(_FirstConvolution, rows, stack["conv1.weight"], stack["conv1.bias"])
        h = _pooled(h.view(count * batch, height, width, -1))  # (M B, H/2, W/2, 16)
        h = _applied(_Convolution, h, stack["conv2.weight"], stack["conv2.bias"])
        h = _pooled(h)  # (M B, H/4, W/4, 32)
        h = h.permute(0, 3, 1, 2).reshape(count, batch, -1)
        h = functional.relu(_applied(_Dense, h, stack["dense.weight"], stack["dense.bias"]))
        return _applied(_Dense, h, stack["head.weight"], stack["head.bias"])


CONVOLUTIONS = frozenset({"conv1.weight", "conv2.weight"})

FORMS: Mapping[str, Form] = MappingProxyType({"cnn": StackedCnn()})
"""Stacked forms, by architecture name."""


def _to_columns(weight: Tensor) -> Tensor:
    """Reshapes (M, O, C, 3, 3) to (M, 9 C, O), in the order row, column, channel."""
    return weight.permute(0, 3, 4, 2, 1).reshape(len(weight), -1, weight.shape[1])


def _from_columns(weight: Tensor) -> Tensor:
    return weight.view(len(weight), 3, 3, -1, weight.shape[2]).permute(0, 4, 3, 1, 2)


def _patches(x: Tensor) -> Tensor:
    """Every 3x3 neighbourhood, zero-padded: (N, H, W, C) to (N, H, W, 9 C), row, column, channel."""
    count, height, width, channels = x.shape
    framed = functional.pad(x, (0, 0, 1, 1, 1, 1)).contiguous()
    image, row, column, _ = framed.stride()
    shape = (count, height, width, 3, 3 * channels)
    return framed.as_strided(shape, (image, row, column, row, 1)).reshape(count, height, width, -1)


def _pooled(x: Tensor) -> Tensor:
    """relu(2x2 max-pool), (N, H, W, C) to (N, H/2, W/2, C)."""
    return functional.relu(functional.max_pool2d(x.permute(0, 3, 1, 2), 2)).permute(0, 2, 3, 1)


def _rows_summed(g: Tensor) -> Tensor:
    """Sums over rows, (M, R, O) to (M, O), by matrix products: the order of `sum` may depend on M."""
    return torch.bmm(g.new_ones(len(g), 1, g.shape[1]), g).squeeze(1)


def _applied(function: type[torch.autograd.Function], *tensors: Tensor) -> Tensor:
    result: Tensor = function.apply(*tensors)  # type: ignore[no-untyped-call]
    return result


class _FirstConvolution(torch.autograd.Function):
    """3x3 convolution of patches (M, R, 9 C), without a gradient of the patches."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        return None, torch.bmm(rows.transpose(1, 2), g), _rows_summed(g)


class _Convolution(torch.autograd.Function):
    """3x3 convolution of (M B, H, W, C); the gradient of x is a convolution by the turned weights."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = _patches(x).view(len(weight), -1, weight.shape[1])  # (M, B H W, 9 C)
        ctx.save_for_backward(rows, weight)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight).view(*x.shape[:3], -1)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, ...]:
        rows, weight = ctx.saved_tensors
        count, _, out = weight.shape
        own = g.reshape(count, -1, out)
        turned = weight.view(count, 9, -1, out).flip(1).transpose(2, 3)  # (M, 9, O, C)
        turned = turned.reshape(count, 9 * out, -1)
        of_x = g.new_empty(count, own.shape[1], turned.shape[2])
        for each, weights, result in zip(g.view(count, -1, *g.shape[1:]), turned, of_x, strict=True):
            torch.mm(_patches(each).view(-1, 9 * out), weights, out=result)  # one model fits the cache
        return of_x.view(*g.shape[:3], -1), torch.bmm(rows.transpose(1, 2), own), _rows_summed(own)


class _Dense(torch.autograd.Function):
    """x W^T + b for (M, B, in) and (M, out, in)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, ...]:
        x, weight = ctx.saved_tensors
        return torch.bmm(g, weight), torch.bmm(g.transpose(1, 2), x), _rows_summed(g)
