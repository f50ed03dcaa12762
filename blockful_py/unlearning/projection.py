# SPDX-License-Identifier: Apache-2.0
"""Removes directions from the layer that computes the features."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.head import output_layer, said_by


def penultimate_layer(module: nn.Module, class_count: int) -> tuple[str, nn.Module]:
    """Name and module of the last linear or convolutional layer that gives the output layer's d inputs.

    Raises UnlearningError: there is no such layer, or the network does not end in a linear layer.
    """
    head, layer = output_layer(module, class_count)
    layers = [
        (name, part)
        for name, part in module.named_modules()
        if isinstance(part, nn.Linear | nn.Conv2d)
        and name != head
        and part.weight.shape[0] == layer.in_features
    ]
    if not layers:
        raise UnlearningError(
            f"no layer of {type(module).__name__} says the {layer.in_features} features of its output layer: "
            "they cannot be projected; choose clean_increments."
        )
    return layers[-1]


def class_means(module: nn.Module, layer: nn.Module, samples: Samples) -> dict[int, Tensor]:
    """Mean output of a layer by class, over samples and positions: float64 (d,).

    The layer belongs to the module; its outputs are (n, ..., d) if it is linear, else (n, d, ...).  Its mode
    stays.
    """
    with torch.no_grad(), said_by(layer) as said:
        module(samples.x)
    outputs = said[0].double().movedim(-1, 1) if isinstance(layer, nn.Linear) else said[0].double()
    features = outputs.flatten(2).mean(2) if outputs.dim() > 2 else outputs  # (n, d)
    return {label: features[samples.y == label].mean(0) for label in samples.classes()}


def direction_beyond(mean: Tensor, span: Iterable[Tensor]) -> Tensor:
    """Direction of mu beyond a span: `v = (mu - P mu) / |mu - P mu|`, P the projection on the span.

    Args:
        mean: mu, float64 (d,).
        span: k vectors, float64 (d,), k at least 1.

    Returns v, float64 (d,); if mu lies in the span, rounding errors determine v.
    """
    basis = torch.linalg.qr(torch.stack(list(span), 1)).Q  # (d, k)
    beyond = mean - basis @ (basis.T @ mean)
    direction: Tensor = beyond / beyond.norm().clamp(min=1e-12)
    return direction


def without_direction(weights: Weights, layer: str, direction: Tensor) -> Weights:
    """A copy of the weights with `W <- (I - v v^T) W` over the outputs of a layer, and its bias likewise.

    Args:
        weights: state dict, on the CPU.
        layer: name of the layer; its weights are (d, ...), its biases (d,).
        direction: unit vector v, float64 (d,), on the CPU.
    """
    changed = dict(weights)
    for key in (f"{layer}.weight", f"{layer}.bias"):
        if key in changed:
            rows = (
                changed[key].double().flatten(1) if changed[key].dim() > 1 else changed[key].double()[:, None]
            )
            less = rows - torch.outer(direction, direction @ rows)
            changed[key] = less.reshape(changed[key].shape).to(changed[key].dtype)
    return changed
