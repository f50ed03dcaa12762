# SPDX-License-Identifier: Apache-2.0
"""Gradient descent of one network on one user's samples, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.data import Samples
from blockful_py.learning.device import compiled
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.models.registry import MODELS
from blockful_py.learning.weights import Weights, detached
from blockful_py.settings import TrainingSettings

Taken = tuple[Tensor, Tensor, Tensor]
"""Loss (), logits (B, classes) and labels (B,) of a step's batch, from before the step."""


def captures(architecture: Architecture, device: torch.device) -> bool:
    """Whether a network's steps are captured on a device.

    Built-in networks' are, on a GPU: they take no branches and draw nothing, so every step is the same.  A
    branch of another network, taken while its step is captured, would be taken for ever.
    """
    return device.type == "cuda" and architecture.name in MODELS


class GradientSteps:
    """SGD on the cross-entropy of batches (paper, eq. 3)."""

    def __init__(
        self, architecture: Architecture, weights: Weights, samples: Samples, settings: TrainingSettings
    ) -> None:
        """Puts the network on the device of the samples.  Raises as `Architecture.module`."""
        self._samples = samples
        self._settings = settings
        self._module = architecture.module(weights, samples.x.device).train()
        self._optimiser = _Sgd(self._module, settings)
        self._network = compiled(self._module) if settings.compiled else self._module

    @classmethod
    def of(
        cls, architecture: Architecture, weights: Weights, samples: Samples, settings: TrainingSettings
    ) -> GradientSteps:
        """Captured steps where they can be, which have the same bits."""
        kind = CapturedSteps if captures(architecture, samples.x.device) else GradientSteps
        return kind(architecture, weights, samples, settings)

    def step(self, rows: Tensor, rate: float) -> Taken:
        """One step on the samples at B row numbers, int64 (B,), on their device."""
        taken = self._directed(rows)
        self._optimiser.step(rate)
        return taken

    def weights(self) -> Weights:
        """The state dict, on the CPU."""
        return detached({name: each.cpu().contiguous() for name, each in self._module.state_dict().items()})

    def _directed(self, rows: Tensor) -> Taken:
        """Everything of a step but the move, whose length changes from step to step."""
        x, y = self._samples.x[rows], self._samples.y[rows]
        if self._settings.channels_last and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        self._optimiser.zero()
        half = self._settings.precision == "bfloat16"
        with torch.autocast(x.device.type, torch.bfloat16, enabled=half):
            logits = self._network(x)
            loss = functional.cross_entropy(logits, y)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.turn()
        return loss.detach(), logits.detach(), y


class CapturedSteps(GradientSteps):
    """GradientSteps on a GPU whose steps are captured as CUDA graphs, one for each size of a batch.

    A graph starts the same kernels as the step that it was captured from, so bits are the same, and all at
    once, while starting them one by one takes most of a small network's time.  Each graph is compared with
    its step before it is used; where a step cannot be captured, or its graph differs, steps go on without.

    Use it on a stream other than the default one.
    """

    def __init__(
        self, architecture: Architecture, weights: Weights, samples: Samples, settings: TrainingSettings
    ) -> None:
        super().__init__(architecture, weights, samples, settings)
        whole, rest = divmod(len(samples), settings.batch_size)
        self._left = Counter({settings.batch_size: settings.epochs * whole})
        self._left[rest] += settings.epochs
        self._done = Counter[int]()
        self._graphs: dict[int, Graph | None] = {}

    def _directed(self, rows: Tensor) -> Taken:
        size = len(rows)
        self._done[size] += 1
        self._left[size] -= 1
        if self._done[size] > WARM and self._left[size] >= WORTH and size not in self._graphs:
            return self._directed_and_captured(rows)
        graph = self._graphs.get(size)
        return super()._directed(rows) if graph is None else graph(rows)

    def _directed_and_captured(self, rows: Tensor) -> Taken:
        """A step; keeps its graph if that has the same outcome."""
        changed = [*self._optimiser.directed(), *self._module.buffers()]
        before = [each.clone() for each in changed]
        taken = super()._directed(rows)
        after = [each.clone() for each in changed]
        try:
            graph = self._recorded(rows)
            _put(changed, before)
            found = graph(rows)
            same = all(map(torch.equal, (*found, *changed), (*taken, *after)))
        except RuntimeError:  # out of memory, or a kernel that cannot be captured
            graph, same = None, False
        _put(changed, after)
        self._graphs[len(rows)] = graph if same else None
        return taken

    def _recorded(self, rows: Tensor) -> Graph:
        graph, place = torch.cuda.CUDAGraph(), rows.clone()
        torch.cuda.empty_cache()  # of earlier steps' memory, as the graph has its own
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            taken = super()._directed(place)
        finally:
            graph.capture_end()
        return replayed(graph.replay, place, taken)


Graph = Callable[[Tensor], Taken]
"""A captured step without its move."""

WARM = 3
"""Steps of each size before its capture, in which libraries choose kernels and take their workspaces."""

WORTH = 16
"""Steps that have to follow for a capture to pay."""


def replayed(replay: Callable[[], None], place: Tensor, taken: Taken) -> Graph:
    """A step that reads its rows from `place`, and writes to `taken`."""

    def step(rows: Tensor) -> Taken:
        place.copy_(rows)
        replay()
        loss, logits, labels = taken
        return loss.clone(), logits.clone(), labels.clone()

    return step


def _put(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value)


class _Sgd:
    """torch.optim.SGD's update, on one flat vector instead of one tensor per layer.

    `g = grad + decay w;  v = momentum v + g;  w = w - rate v`
    """

    def __init__(self, module: nn.Module, settings: TrainingSettings) -> None:
        parameters = list(trainable(module).values())
        orders = [_order(parameter, settings.channels_last) for parameter in parameters]
        self._settings = settings
        self._weights = torch.cat(
            [each.detach().permute(order).reshape(-1) for each, order in zip(parameters, orders, strict=True)]
        )
        self._gradient = torch.zeros_like(self._weights)
        self._velocity = torch.zeros_like(self._weights)
        sizes = [parameter.numel() for parameter in parameters]
        flat = (torch.split(vector, sizes) for vector in (self._weights, self._gradient))
        for parameter, order, weight, gradient in zip(parameters, orders, *flat, strict=True):
            shape = [parameter.shape[axis] for axis in order]
            back = [order.index(axis) for axis in range(len(order))]
            parameter.data = weight.view(shape).permute(back)
            parameter.grad = gradient.view(shape).permute(back)

    def directed(self) -> tuple[Tensor, Tensor]:
        """Gradient and velocity, which a step without its move changes."""
        return self._gradient, self._velocity

    def zero(self) -> None:
        self._gradient.zero_()

    def turn(self) -> None:
        """Turns the velocity to the gradient."""
        self._gradient.add_(self._weights, alpha=self._settings.weight_decay)
        self._velocity.mul_(self._settings.momentum).add_(self._gradient)

    def step(self, rate: float) -> None:
        self._weights.add_(self._velocity, alpha=-rate)


def _order(parameter: Tensor, channels_last: bool) -> tuple[int, ...]:
    """Order of a parameter's axes in memory: kernels of images have their channels last if batches have."""
    return (0, 2, 3, 1) if channels_last and parameter.dim() == 4 else tuple(range(parameter.dim()))
