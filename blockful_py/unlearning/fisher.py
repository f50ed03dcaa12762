# SPDX-License-Identifier: Apache-2.0
"""The diagonal of the Fisher information, and the dampening of weights with outlying values."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.cost import Work

Fisher = Mapping[str, Tensor]
"""Fisher information by parameter, in the parameter's shape: non-negative float32, on the CPU."""


def fisher(architecture: Architecture, weights: Weights, samples: Samples, batch: int, work: Work) -> Fisher:
    """Fisher information `F = mean over batches B of (grad L(w, B))^2`, in evaluation mode.

    L is the mean cross-entropy with the true labels (as in the code of arXiv 2308.07707 and 2408.08493).

    Args:
        weights: state dict w.
        samples: n samples, n at least 1; the computation runs on their device.
        batch: samples of a batch; the last one may have fewer.
        work: counts the sample passes.

    Raises LearningError: weights of another architecture.
    """
    module = work.watch(architecture.module(weights, samples.x.device).eval())
    parameters = trainable(module)
    total = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
    parts = torch.split(torch.arange(len(samples)), batch)
    for rows in parts:
        chosen = samples.at(rows)
        loss = functional.cross_entropy(module(chosen.x), chosen.y)
        gradients = torch.autograd.grad(loss, [*parameters.values()], materialize_grads=True)
        for name, gradient in zip(total, gradients, strict=True):
            total[name] += gradient.square()
    return {name: (squares / len(parts)).cpu() for name, squares in total.items()}


def require_dampening(selection: float, dampening: float, batch: int) -> None:
    """Checks settings of `dampened` and `fisher`.  Raises SettingsError."""
    if not (selection > 0 and dampening > 0 and batch >= 1):
        raise SettingsError(
            "selection and dampening must be positive and batch at least 1, "
            f"not {selection}, {dampening}, {batch}."
        )


def merged(matrices: Collection[Fisher]) -> Fisher:
    """Element-wise maximum of one or more matrices."""
    listed = list(matrices)
    largest = dict(listed[0])
    for other in listed[1:]:
        largest = {name: torch.maximum(values, other[name]) for name, values in largest.items()}
    return largest


def dampened(
    weights: Weights,
    forgotten: Fisher,
    everything: Fisher,
    selection: float,
    dampening: float,
    names: Collection[str],
) -> Weights:
    """Dampens weights: `w_i min(lambda F_i / F^f_i, 1)` where `F^f_i > alpha F_i`.

    See arXiv 2308.07707, eq. 4 and 5.  The other weights stay.  Returns a copy.

    Args:
        weights: state dict w, on the CPU.
        forgotten, everything: F^f and F, at least of `names`.
        selection, dampening: alpha, lambda.
        names: parameters that may change.
    """
    changed = {name: tensor.clone() for name, tensor in weights.items()}
    for name in names:
        chosen = forgotten[name] > selection * everything[name]
        factor = (dampening * everything[name] / forgotten[name].clamp(min=1e-30)).clamp(max=1.0)
        changed[name] = torch.where(chosen, changed[name] * factor, changed[name])
    return changed
