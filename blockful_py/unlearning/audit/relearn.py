# SPDX-License-Identifier: Apache-2.0
"""How quickly a model learns again what it was to forget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.head import output_layer

RATE, MOMENTUM = 0.004, 0.9
FORGOTTEN, RETAINED = 16, 16
"""Samples of either kind a step."""
STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What is taught, batch after batch, and how much of it is left to learn, from 1 to 0."""

    batches: Sequence[Samples]
    left: Callable[[nn.Module], float]


def lesson_batches(
    forgotten: Samples, retained: Samples, steps: int, stream: torch.Generator
) -> list[Samples]:
    """`steps` batches of 16 forgotten and 16 retained samples, drawn without return until all were seen."""
    drawn = zip(
        _draws(forgotten, FORGOTTEN, steps, stream), _draws(retained, RETAINED, steps, stream), strict=True
    )
    return [pooled(pair) for pair in drawn]


def wrong_share(samples: Samples) -> Callable[[nn.Module], float]:
    """Share of these held-out samples that a network gets wrong."""

    def left(module: nn.Module) -> float:
        with torch.inference_mode():
            return float((module(samples.x).argmax(1) != samples.y).double().mean().item())

    return left


def loss_share(samples: Samples, low: float, high: float) -> Callable[[nn.Module], float]:
    """`(loss - low) / (high - low)` in [0, 1], of the mean cross-entropy (nats) of these samples."""

    def left(module: nn.Module) -> float:
        return min(1.0, max(0.0, (mean_loss(module, samples) - low) / (high - low)))

    return left


def mean_loss(module: nn.Module, samples: Samples) -> float:
    """Mean cross-entropy, in nats, in evaluation mode."""
    module.eval()
    with torch.inference_mode():
        return float(functional.cross_entropy(module(samples.x).double(), samples.y).item())


def relearn_steps(
    architecture: Architecture,
    weights: Weights,
    lesson: Lesson,
    equalised: Collection[int],
    device: torch.device,
) -> float:
    """`sum over steps t of left(t)`, from 0 to the number of batches, in SGD of rate 0.004, momentum 0.9.

    With the share of wrong samples as what is left, that is the mean over samples of the steps it takes:
    the relearn time averaged over all levels of accuracy, which is less noisy than at one of them.

    The output rows of the `equalised` classes are first set to zero and their biases to the mean of the
    others', in every model alike: otherwise a masked head would look like forgetting.  The network stays
    in evaluation mode, so running statistics do not move.
    """
    module = architecture.module(weights, device).eval()
    equalise(output_layer(module, architecture.class_count)[1], equalised)
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM)
    total = 0.0
    for batch in lesson.batches:
        total += lesson.left(module)
        optimiser.zero_grad()
        functional.cross_entropy(module(batch.x), batch.y).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return total


def equalise(head: nn.Linear, classes: Collection[int]) -> None:
    """Rows of the classes zero, their biases the mean of the others'."""
    if not classes:
        return
    rows = torch.zeros(head.out_features, dtype=torch.bool, device=head.weight.device)
    rows[sorted(classes)] = True
    with torch.no_grad():
        head.weight[rows] = 0
        if head.bias is not None:
            head.bias[rows] = head.bias[~rows].mean()


def _draws(samples: Samples, size: int, steps: int, stream: torch.Generator) -> list[Samples]:
    rows = torch.empty(0, dtype=torch.int64)
    while len(rows) < size * steps:
        rows = torch.cat([rows, torch.randperm(len(samples), generator=stream)])
    return [samples.at(part) for part in torch.split(rows[: size * steps], size)]
