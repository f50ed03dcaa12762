# SPDX-License-Identifier: Apache-2.0
"""The output layer of a network, its input features, and the removal of classes from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from blockful_py.errors import UnlearningError
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.layers import output_layers
from blockful_py.learning.sums import uncounted
from blockful_py.learning.weights import Weights

SILENT = -5.0
"""Bias of a removed class."""


def output_layer(module: nn.Module, class_count: int) -> tuple[str, nn.Linear]:
    """Name and module of the last linear layer with one output per class: weights (classes, d).

    Raises UnlearningError: the network has no such layer.
    """
    layers = output_layers(module, class_count)
    if not layers:
        raise UnlearningError(
            f"a network is expected to end in a linear layer with {class_count} outputs; "
            f"{type(module).__name__} does not."
        )
    return layers[-1]


def neutralised(architecture: Architecture, weights: Weights, classes: Collection[int]) -> Weights:
    """A copy of the weights with `w_f = 0, b_f = -5` in the output layer for every class f.

    In models of sums over samples, whose head follows from them, the classes count no samples
    (`sums.uncounted`).  A merged model gets the own part that makes its network such a one.

    Args:
        weights: state dict; the output layer has weights (classes, d) and biases (classes,).

    Raises:
        UnlearningError: the network does not end in a linear layer with one output per class.
        LearningError: weights of another architecture.
    """
    if architecture.is_merged:
        merged = architecture.merged(weights)
        return merged.answering_as(neutralised(architecture.trained, merged.network_weights(), classes))
    module = architecture.module(weights, torch.device("cpu"))
    if architecture.is_sums:
        return uncounted(weights, classes)
    name, layer = output_layer(module, architecture.class_count)
    changed = {key: tensor.clone() for key, tensor in weights.items()}
    rows = sorted(classes)
    changed[f"{name}.weight"][rows] = 0.0
    if layer.bias is not None:
        changed[f"{name}.bias"][rows] = SILENT
    return changed


@contextmanager
def said_by(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Collects the outputs of a layer, (B, ...) per call, while the context is open."""
    said: list[Tensor] = []

    def keep(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        said.append(output)

    hook = layer.register_forward_hook(keep)
    try:
        yield said
    finally:
        hook.remove()
