# SPDX-License-Identifier: Apache-2.0
"""Weights that are no model of their federation's architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from blockful_py.learning.weights import Weights


@dataclass(frozen=True)
class Poison:
    """Spoils a state dict.

    Attributes:
        said: the words of the expected error.
        in_header: whether the header of the file shows the damage.
    """

    name: str
    made_of: Callable[[Weights], Weights]
    said: str
    in_header: bool = True


def _first(weights: Weights) -> str:
    return next(name for name, tensor in weights.items() if tensor.dim() > 1)


def _extra(weights: Weights) -> Weights:
    return {**weights, "extra": torch.zeros(3)}


def _missing(weights: Weights) -> Weights:
    first = _first(weights)
    return {name: tensor for name, tensor in weights.items() if name != first}


def _other_shape(weights: Weights) -> Weights:
    first = _first(weights)
    return {**weights, first: weights[first].reshape(-1)}


def _half(weights: Weights) -> Weights:
    return {**weights, _first(weights): weights[_first(weights)].half()}


def _nan(weights: Weights) -> Weights:
    first = weights[_first(weights)].clone()
    first.view(-1)[0] = torch.nan
    return {**weights, _first(weights): first}


POISONS = (
    Poison("an extra tensor", _extra, r"'extra' is F32 \[3\], expected none"),
    Poison("a tensor less", _missing, r"is missing, expected F32 \["),
    Poison("another shape", _other_shape, r"is F32 \[\d+\], expected F32 \["),
    Poison("float16", _half, r"is F16 \[.*expected F32 \["),
    Poison("NaN", _nan, "NaN or infinite", in_header=False),
)
