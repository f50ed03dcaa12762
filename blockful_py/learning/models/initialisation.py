# SPDX-License-Identifier: Apache-2.0
"""Initial weights from an explicit generator; torch's own initialisers draw from the global one."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from blockful_py.errors import SettingsError
from blockful_py.learning.weights import Weights


def initialise(module: nn.Module, name: str, generator: torch.Generator, constants: Weights) -> None:
    """Fills all parameters and buffers of a module; `constants` holds values of buffers by name.

    Convolutions and dense layers: U(-1/sqrt(fan in), 1/sqrt(fan in)).  Embeddings: N(0, 1) with a zero row
    for padding.  Normalisation: ones and zeros, as in torch.  The network's own method
    `initialise(generator)` is called last; it fills layers of other kinds and may change any.

    Raises SettingsError: a tensor was left unfilled.
    """
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)
            else:
                tensor.zero_()
        for part in module.modules():
            _fill(part, generator)
        for key, buffer in module.named_buffers():
            if key in constants:
                buffer.copy_(constants[key])
        own = getattr(module, "initialise", None)
        if own is not None:
            own(generator)
    empty = [key for key, tensor in module.state_dict().items() if bool(torch.isnan(tensor).any())]
    if empty:
        raise SettingsError(
            f"model {name!r} does not say how {empty[0]} starts: give it a method initialise(generator)."
        )


def _fill(part: nn.Module, generator: torch.Generator) -> None:
    if isinstance(part, nn.Conv1d | nn.Conv2d | nn.Linear):
        bound = 1 / math.sqrt(part.weight[0].numel())
        for parameter in (part.weight, part.bias):
            if parameter is not None:
                # Multiples of 2^-24, with one rounding per step: on some processors uniform_(-bound, bound)
                # fuses two steps.
                parameter.uniform_(generator=generator).mul_(2 * bound).sub_(bound)
    elif isinstance(part, nn.Embedding):
        part.weight.normal_(generator=generator)
        if part.padding_idx is not None:
            part.weight[part.padding_idx].zero_()
    elif isinstance(part, nn.GroupNorm | nn.LayerNorm | _BatchNorm):
        if part.weight is not None:
            part.weight.fill_(1)
        if part.bias is not None:
            part.bias.zero_()
        if isinstance(part, _BatchNorm):
            part.reset_running_stats()
