# SPDX-License-Identifier: Apache-2.0
"""Healing: a short training on retained samples, which ends once the loss on a proxy set stops falling."""

from __future__ import annotations

import math

import torch
from torch import nn

from blockful_py.learning.data import Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.descent import Descent, batches_of, cross_entropy, weights_of

LOOKS = 4
"""Number of proxy evaluations in a full healing."""

IMPROVEMENT = 0.02
"""Relative fall of the proxy loss below the best one that each evaluation must show; otherwise healing ends.
"""


def heal(
    module: nn.Module,
    retained: Samples,
    proxy: Samples | None,
    descent: Descent,
    stream: torch.Generator,
    batch: int,
    most: int | None,
    whose: str,
) -> Weights:
    """Runs SGD on the cross-entropy of retained samples: at most one pass over them, or `most` steps.

    After each quarter of these steps the mean cross-entropy on one batch of proxy samples, drawn once, is
    measured. Healing ends at the first measurement that is not below `1 - IMPROVEMENT` times the lowest so
    far; the result is the weights of the lowest.  Without a proxy set it takes all its steps.

    Args:
        module: the network with the weights to heal, in training mode; it is changed.
        retained: n samples, n at least 1, on the module's device.
        proxy: labelled samples of retained classes that no user trains on.
        stream: CPU generator that draws the batches of min(batch, n) samples, then the proxy samples.
        most: maximum number of steps; None means ceil(n / batch).
        whose: name of the model, for error messages.

    Returns a state dict on the CPU.

    Raises LearningError: a result that is not finite.
    """
    steps = -(-len(retained) // batch) if most is None else most
    batches = batches_of(retained, batch, steps, stream)
    if proxy is None or not len(proxy):
        descent.run(module, cross_entropy, batches, stream)
        return weights_of(module, whose)
    shown = proxy.at(torch.randperm(len(proxy), generator=stream)[:batch])
    looked = _Looks(module, shown, every=max(1, math.ceil(steps / LOOKS)), last=steps, whose=whose)
    descent.run(module, cross_entropy, batches, stream, ends=looked.end)
    return weights_of(module, whose) if looked.best is None else looked.best


class _Looks:
    """Tracks the proxy loss during a descent, and keeps the best weights."""

    def __init__(self, module: nn.Module, proxy: Samples, every: int, last: int, whose: str) -> None:
        self._module, self._proxy, self._every, self._last, self._whose = module, proxy, every, last, whose
        self._lowest = math.inf
        self.best: Weights | None = None

    def end(self, done: int) -> bool:
        """Whether the descent ends after `done` steps."""
        if done % self._every and done != self._last:
            return False
        with torch.no_grad():
            self._module.eval()
            loss = float(cross_entropy(self._module, self._proxy))
            self._module.train()
        ends = not loss < (1 - IMPROVEMENT) * self._lowest
        if loss < self._lowest:
            self._lowest, self.best = loss, weights_of(self._module, self._whose)
        return ends
