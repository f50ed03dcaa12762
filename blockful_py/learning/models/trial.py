# SPDX-License-Identifier: Apache-2.0
"""Tries a network on a few samples before deployment."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import BlockfulError, SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.models.architecture import Architecture, trainable
from blockful_py.learning.streams import drawing_from, generator

ROWS = 2


def require_trainable(
    architecture: Architecture, samples: Samples, seed: int, by_gradient: bool = True
) -> None:
    """Checks that the network returns logits and can be trained.

    Args:
        samples: samples of the data set, on the training device.
        by_gradient: False if the participants' own program trains the network.

    Raises SettingsError with the change to make.
    """
    stream = generator(seed, "trial")
    trial = _Trial(architecture.name, architecture.class_count)
    x, device = samples.x[:ROWS], samples.x.device
    module = architecture.module(architecture.initial(stream), device)
    with drawing_from(stream, device):
        first, again = (trial.logits(module.eval(), x, "") for _ in range(2))
        if not torch.equal(first, again):
            raise SettingsError(
                f"model {architecture.name!r} gives different logits each time in evaluation: make its "
                "random draws depend on self.training, as functional.dropout(x, p, self.training) does."
            )
        for rows, when in ((x, " in training"), (x[:1], " in training, one sample alone")):
            if by_gradient:
                trial.learns(module.train(), rows, when)


class _Trial:
    """Trial of a network with a given name and number of classes."""

    def __init__(self, name: str, classes: int) -> None:
        self._name = name
        self._classes = classes

    def logits(self, module: nn.Module, x: Tensor, when: str) -> Tensor:
        """Logits of samples x (B, ...): float32 (B, classes).  Raises SettingsError for invalid ones."""
        try:
            said = module(x)
        except BlockfulError:
            raise
        except Exception as error:
            raise self._refused(f"fails on inputs of shape {tuple(x.shape)}{when}", error) from error
        if not isinstance(said, Tensor):
            raise SettingsError(
                f"model {self._name!r} returns {type(said).__name__}: have its forward return logits alone, "
                f"a tensor of shape (batch, {self._classes}){_found_in(said)}."
            )
        if tuple(said.shape) != (len(x), self._classes):
            raise SettingsError(
                f"model {self._name!r} returns {tuple(said.shape)} for {len(x)} samples, not "
                f"({len(x)}, {self._classes}), one logit for each class: take their number from its second "
                "argument."
            )
        if said.dtype != torch.float32:
            raise SettingsError(
                f"model {self._name!r} returns logits of type {said.dtype}: return logits.float()."
            )
        if not bool(torch.isfinite(said).all()):
            raise SettingsError(
                f"model {self._name!r} returns NaN or infinite logits for the first samples{when}, before it "
                "is trained."
            )
        return said.detach() if not module.training else said

    def learns(self, module: nn.Module, x: Tensor, when: str) -> None:
        """Computes the gradients of a loss on samples x (B, ...).  Raises SettingsError if that fails."""
        said = self.logits(module, x, when)
        loss = functional.cross_entropy(said, torch.zeros(len(x), dtype=torch.int64, device=x.device))
        weights = [*trainable(module).values()]
        try:
            torch.autograd.grad(loss, weights, materialize_grads=True)
        except Exception as error:
            raise self._refused(
                "gives no gradients: compute in torch, without detach or numpy", error
            ) from error

    def _refused(self, what: str, error: Exception) -> SettingsError:
        reason = next(iter(str(error).splitlines()), "")
        return SettingsError(f"model {self._name!r} {what} ({type(error).__name__}): {reason}")


def _found_in(said: Any) -> str:
    """Describes the place of the first tensor in a network's return value."""
    if isinstance(said, tuple | list):
        index = next((i for i, each in enumerate(said) if isinstance(each, Tensor)), None)
        return "" if index is None else f", as [{index}] of it"
    named = dict(said) if isinstance(said, dict) else vars(said) if hasattr(said, "__dict__") else {}
    key = next((key for key, each in named.items() if isinstance(each, Tensor)), None)
    return "" if key is None else f", as its {key}"
