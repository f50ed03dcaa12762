# SPDX-License-Identifier: Apache-2.0
"""Relearn time: training steps until a model knows the forgotten samples again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import trainable
from blockful_py.learning.stack_training import StackedSgd
from blockful_py.learning.stacked import FORMS, LARGEST_STACK, Form, Stack, stack_weights, stacks_well
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings
from blockful_py.unlearning.audit.canonical import canonical
from blockful_py.unlearning.head import output_layer

RATE, MOMENTUM = 0.004, 0.9
FORGOTTEN, RETAINED = 16, 16
"""Samples of each kind per step."""
STEPS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Training batches, and a measure of the share left to learn.

    Attributes:
        batches: samples of each step.
        asked: n samples that the network classifies before each step.
        left: share left to learn, from 1 to 0, as a function of their logits, float32 (n, classes).
        peaks: by hidden layer, the largest activation that every unit gets (`canonical`).
    """

    batches: Sequence[Samples]
    asked: Samples
    left: Callable[[Tensor], float]
    peaks: Sequence[float]


def lesson_batches(
    forgotten: Samples, retained: Samples, steps: int, stream: torch.Generator
) -> list[Samples]:
    """Draws `steps` batches of 16 forgotten and 16 retained samples, using all before any repeats."""
    drawn = zip(
        _draws(forgotten, FORGOTTEN, steps, stream), _draws(retained, RETAINED, steps, stream), strict=True
    )
    return [pooled(pair) for pair in drawn]


def wrong_share(asked: Samples) -> Callable[[Tensor], float]:
    """Measures the share of misclassified samples, from 0 to 1, from their logits (n, classes)."""

    def left(logits: Tensor) -> float:
        return float((logits.argmax(1) != asked.y).double().mean().item())

    return left


def loss_share(asked: Samples, low: float, high: float) -> Callable[[Tensor], float]:
    """Measures `(loss - low) / (high - low)`, clipped to [0, 1], from the samples' logits (n, classes).

    The loss is their mean cross-entropy (nats).
    """

    def left(logits: Tensor) -> float:
        loss = float(functional.cross_entropy(logits.double(), asked.y).item())
        return min(1.0, max(0.0, (loss - low) / (high - low)))

    return left


def mean_loss(module: nn.Module, samples: Samples) -> float:
    """Mean cross-entropy, in nats, in evaluation mode."""
    module.eval()
    with torch.inference_mode():
        return float(functional.cross_entropy(module(samples.x).double(), samples.y).item())


def relearn_steps(
    architecture: Architecture,
    models: Mapping[str, Weights],
    lessons: Mapping[str, Lesson],
    classes: Collection[int],
    device: torch.device,
) -> dict[str, float]:
    """Relearn time of each model with a lesson, `sum over steps t of left(t)`.

    It is between 0 and the number of batches.  Models learn by SGD of rate 0.004, momentum 0.9.  If `left` is
    the share of misclassified samples, the sum is the mean number of steps over samples: the relearn time
    averaged over all levels of accuracy, which is less noisy than the time to one level. In every model, the
    output rows of the `classes` are first set to zero and their biases to the mean of the others'; otherwise
    a masked head would look like forgetting.  Hidden units get the scales of the lesson
    (`canonical`); otherwise the owner of a model would choose how fast it learns.  Networks stay in
    evaluation mode, so running statistics do not move. Small networks learn in stacks; their figures equal
    the loop's up to rounding, with the same bits in any stack.
    """
    taught = {
        name: canonical(
            architecture, equalised(architecture, models[name], classes), pooled(lesson.batches), lesson.peaks
        )
        for name, lesson in lessons.items()
    }
    if not stacks_well(architecture, device):
        return {
            name: _alone(architecture.module(weights, device), lessons[name])
            for name, weights in taught.items()
        }
    steps: dict[str, float] = {}
    for names in _stacks(lessons):
        stack = stack_weights(architecture, {name: taught[name] for name in names}, device)
        learnt = _stacked(FORMS[architecture.name], stack, [lessons[name] for name in names])
        steps.update(zip(names, learnt, strict=True))
    return {name: steps[name] for name in lessons}


def equalised(architecture: Architecture, weights: Weights, classes: Collection[int]) -> Weights:
    """A copy with zero output rows, of (classes, d), for the classes, and the mean bias of the others."""
    if not classes:
        return weights
    name, head = output_layer(architecture.module(weights, torch.device("cpu")), architecture.class_count)
    changed = {key: tensor.clone() for key, tensor in weights.items()}
    rows = torch.zeros(head.out_features, dtype=torch.bool)
    rows[sorted(classes)] = True
    changed[f"{name}.weight"][rows] = 0
    if head.bias is not None:
        bias = changed[f"{name}.bias"]
        bias[rows] = bias[~rows].mean()
    return changed


def _alone(module: nn.Module, lesson: Lesson) -> float:
    module.eval()
    optimiser = torch.optim.SGD(trainable(module).values(), lr=RATE, momentum=MOMENTUM)
    total = 0.0
    for batch in lesson.batches:
        with torch.inference_mode():
            total += lesson.left(module(lesson.asked.x))
        optimiser.zero_grad()
        functional.cross_entropy(module(batch.x), batch.y).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return total


def _stacks(lessons: Mapping[str, Lesson]) -> list[tuple[str, ...]]:
    """Groups of models whose lessons have the same sizes."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, lesson in lessons.items():
        alike.setdefault((len(lesson.asked), *map(len, lesson.batches)), []).append(name)
    return [
        tuple(names[first : first + LARGEST_STACK])
        for names in alike.values()
        for first in range(0, len(names), LARGEST_STACK)
    ]


def _stacked(form: Form, weights: Stack, lessons: Sequence[Lesson]) -> list[float]:
    """Computes `_alone` for M models at once."""
    optimiser = StackedSgd(
        form.packed(weights), TrainingSettings(learning_rate=RATE, momentum=MOMENTUM, weight_decay=0)
    )
    asked = _side_by_side(form, [lesson.asked for lesson in lessons])
    totals = [0.0] * len(lessons)
    for batches in zip(*(lesson.batches for lesson in lessons), strict=True):
        said = _said(form, optimiser.stack, asked)
        totals = [
            total + lesson.left(logits) for total, lesson, logits in zip(totals, lessons, said, strict=True)
        ]
        optimiser.zero()
        logits = form.logits(optimiser.stack, _side_by_side(form, batches)).flatten(0, 1)
        losses = functional.cross_entropy(logits, torch.cat([batch.y for batch in batches]), reduction="none")
        share = torch.full_like(losses, 1 / len(batches[0]))
        torch.dot(losses, share).backward()  # type: ignore[no-untyped-call]
        optimiser.step(RATE)
    return totals


@torch.no_grad()
def _said(form: Form, stack: Stack, asked: Tensor) -> list[Tensor]:
    """Logits of M models, (n, classes) each, one after the other because one model's layers fit the cache."""
    models = ({name: tensor[i : i + 1] for name, tensor in stack.items()} for i in range(len(asked)))
    return [form.logits(model, own.unsqueeze(0))[0] for model, own in zip(models, asked, strict=True)]


def _side_by_side(form: Form, samples: Sequence[Samples]) -> Tensor:
    """The form's input for the samples of M models, (M, n, ...)."""
    prepared = form.prepared(torch.cat([each.x for each in samples]))
    return prepared.view(len(samples), -1, *prepared.shape[1:])


def _draws(samples: Samples, size: int, steps: int, stream: torch.Generator) -> list[Samples]:
    rows = torch.empty(0, dtype=torch.int64)
    while len(rows) < size * steps:
        rows = torch.cat([rows, torch.randperm(len(samples), generator=stream)])
    return [samples.at(part) for part in torch.split(rows[: size * steps], size)]
