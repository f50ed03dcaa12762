# SPDX-License-Identifier: Apache-2.0
"""Training of many models of one architecture: in stacks where that is faster, else one after the other.

A model's bits depend on its own weights, samples, settings and stream alone, not on its companions: a stack
holds only models with the same settings and sizes of batches, and `stacked` keeps their numbers apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blockful_py.errors import SettingsError
from blockful_py.learning.curves import Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.device import memory_errors
from blockful_py.learning.models import Architecture
from blockful_py.learning.probabilities import softmax
from blockful_py.learning.stacked import FORMS, LARGEST_STACK, Stack, stack_weights, stacks_well
from blockful_py.learning.training import Fitted, fit
from blockful_py.learning.weights import Weights, detached, require_finite
from blockful_py.settings import TrainingSettings

SIZES_OF_LAST_BATCH = 4
"""Last batches are padded to a multiple of this part of a batch, so that users with nearly equal numbers of
samples train in one stack."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingJob:
    """One model to train.

    Attributes:
        weights: state dict to start from.
        samples: n training samples; their device trains.
        settings: phi of the paper's eq. 3.
        stream: generator on the CPU that draws the batches.
    """

    weights: Weights
    samples: Samples
    settings: TrainingSettings
    stream: torch.Generator


@dataclass(frozen=True, slots=True)
class Schedule:
    """Settings and batch sizes that the models of a stack share.

    Attributes:
        batches: number of batches of an epoch.
        last: rows of the last batch, padding included.
    """

    settings: TrainingSettings
    batches: int
    last: int

    @classmethod
    def of(cls, job: TrainingJob) -> Schedule:
        batch = job.settings.batch_size
        batches = -(-len(job.samples) // batch)
        step = max(1, batch // SIZES_OF_LAST_BATCH)
        last = len(job.samples) - (batches - 1) * batch
        return cls(job.settings, batches, min(batch, -(-last // step) * step))


Fitter = Callable[[Architecture, Sequence[TrainingJob]], tuple[Fitted, ...]]
"""`fit_together`, or what takes its place and gives the same bits (`learning.training_task`)."""


def fit_together(architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
    """`fit` for every job, in order.

    Models trained one by one have the bits of `fit`; stacked ones agree with it to rounding
    (docs/reference/learning.md).

    Raises:
        SettingsError: `together = "stacked"` for an architecture or settings that cannot be stacked.
        LearningError: as `fit`.
    """
    done: dict[int, Fitted] = {}
    for rows in units_of(architecture, jobs):
        first = jobs[rows[0]]
        if _stacks(architecture, first):
            listed = _fit_stack(architecture, Schedule.of(first), [jobs[i] for i in rows])
        else:
            listed = [fit(architecture, first.weights, first.samples, first.settings, first.stream)]
        done.update(zip(rows, listed, strict=True))
    return tuple(done[i] for i in range(len(jobs)))


def train_together(
    architecture: Architecture, jobs: Sequence[TrainingJob], fitter: Fitter = fit_together
) -> tuple[Weights, ...]:
    """The weights of `fit_together`, or of the `fitter` in its place."""
    return tuple(fitted.weights for fitted in fitter(architecture, jobs))


def units_of(architecture: Architecture, jobs: Sequence[TrainingJob]) -> list[list[int]]:
    """Positions of the jobs that train at once: those of a stack, or one.

    Raises SettingsError as `fit_together`.
    """
    units: list[list[int]] = []
    stacks: dict[Schedule, list[int]] = {}
    for i, job in enumerate(jobs):
        if _stacks(architecture, job):
            stacks.setdefault(Schedule.of(job), []).append(i)
        else:
            units.append([i])
    return [*units, *(rows for members in stacks.values() for rows in _split(members))]


def _stacks(architecture: Architecture, job: TrainingJob) -> bool:
    """`is_stacked` for a job; one without samples, which cannot be trained, is in no stack."""
    return len(job.samples) > 0 and is_stacked(architecture, job.settings, job.samples.x.device)


def is_stacked(architecture: Architecture, settings: TrainingSettings, device: torch.device) -> bool:
    """Whether a model trains in a stack, possibly alone: decided by the settings, the network, the size of
    its inputs and the kind of device, never by the number of models.

    Raises:
        SettingsError: `together = "stacked"` for an architecture or settings that cannot be stacked.
    """
    if settings.together == "loop":
        return False
    able = architecture.name in FORMS and settings.is_plain
    if settings.together == "stacked":
        if not able:
            raise SettingsError(
                f"together = 'stacked' needs model 'cnn' in float32, neither compiled nor channels-last, not "
                f"{architecture.name!r} with {settings}: choose 'auto' or 'loop'."
            )
        return True
    return able and stacks_well(architecture, device)


def _split(members: list[int]) -> list[list[int]]:
    """Stacks of nearly equal size."""
    parts = math.ceil(len(members) / LARGEST_STACK)
    return [members[k * len(members) // parts : (k + 1) * len(members) // parts] for k in range(parts)]


def _fit_stack(architecture: Architecture, schedule: Schedule, jobs: Sequence[TrainingJob]) -> list[Fitted]:
    """Models of one schedule at once."""
    form = FORMS[architecture.name]
    device = jobs[0].samples.x.device
    models = {str(i): job.weights for i, job in enumerate(jobs)}
    with memory_errors(device):
        optimiser = StackedSgd(form.packed(stack_weights(architecture, models, device)), schedule.settings)
        prepared = torch.cat([form.prepared(job.samples.x) for job in jobs])
        labels = torch.cat([job.samples.y for job in jobs])
        tally = Tally()
        steps = schedule.settings.epochs * schedule.batches
        for step, (rows, shares) in enumerate(_batches(schedule, jobs)):
            flat = rows.to(device).reshape(-1)
            x = prepared.index_select(0, flat).view(*rows.shape, *prepared.shape[1:])
            optimiser.zero()
            logits = form.logits(optimiser.stack, x).flatten(0, 1)
            y = labels[flat]
            probabilities = softmax(logits.detach())
            of_label = probabilities.gather(1, y.unsqueeze(1))
            gradient = probabilities.scatter(1, y.unsqueeze(1), of_label - 1).float()
            gradient.mul_(shares.to(device).reshape(-1, 1))
            torch.dot(logits.flatten(), gradient.flatten()).backward()  # type: ignore[no-untyped-call]
            tally.step(of_label.squeeze(1).log().neg(), logits, y)
            optimiser.step(schedule.settings.rate_at(step, steps))
        curves = tally.curves([len(job.samples) for job in jobs], schedule.settings.epochs)
    unpacked = form.unpacked(optimiser.stack)
    fitted = []
    for i, curve in enumerate(curves):
        weights = detached({name: tensor[i].cpu() for name, tensor in unpacked.items()})
        require_finite(weights, "a trained model")
        fitted.append(Fitted(weights, curve))
    return fitted


def _batches(schedule: Schedule, jobs: Sequence[TrainingJob]) -> Iterator[tuple[Tensor, Tensor]]:
    """Row numbers among all samples, int64 (M, B), and each row's share of its model's loss, float32 (M, B):
    `1 / own rows`, 0 for padding."""
    sizes = [len(job.samples) for job in jobs]
    offsets = [sum(sizes[:i]) for i in range(len(sizes))]
    batch = schedule.settings.batch_size
    length = (schedule.batches - 1) * batch + schedule.last
    shares = torch.zeros(len(jobs), length)
    for i, size in enumerate(sizes):
        whole = (schedule.batches - 1) * batch
        shares[i, :whole] = 1 / batch
        shares[i, whole:size] = 1 / (size - whole)
    rows = torch.tensor(offsets).unsqueeze(1).repeat(1, length)
    for _ in range(schedule.settings.epochs):
        for i, (job, size) in enumerate(zip(jobs, sizes, strict=True)):
            rows[i, :size] = torch.randperm(size, generator=job.stream) + offsets[i]
        yield from zip(torch.split(rows, batch, 1), torch.split(shares, batch, 1), strict=True)


class StackedSgd:
    """The update of `training._Sgd` on all weights of a stack, with the same rounding at every position.

    Products and sums are separate operations: a vector unit would fuse them for most numbers, but not for
    the last few.

    Attributes:
        stack: weights of M models by name, float32 (M, ...), leaves with gradients; views of one vector.
    """

    def __init__(self, stack: Stack, settings: TrainingSettings) -> None:
        self._settings = settings
        self._weights = torch.cat([tensor.flatten() for tensor in stack.values()])
        self._gradient = torch.zeros_like(self._weights)
        self._velocity = torch.zeros_like(self._weights)
        self._term = torch.empty_like(self._weights)
        sizes = [tensor.numel() for tensor in stack.values()]
        flat = (torch.split(vector, sizes) for vector in (self._weights, self._gradient))
        self.stack: dict[str, Tensor] = {}
        for (name, tensor), weight, gradient in zip(stack.items(), *flat, strict=True):
            leaf = weight.view(tensor.shape).requires_grad_()
            leaf.grad = gradient.view(tensor.shape)
            self.stack[name] = leaf

    def zero(self) -> None:
        self._gradient.zero_()

    @torch.no_grad()
    def step(self, rate: float) -> None:
        torch.mul(self._weights, self._settings.weight_decay, out=self._term)
        self._gradient.add_(self._term)
        self._velocity.mul_(self._settings.momentum).add_(self._gradient)
        torch.mul(self._velocity, -rate, out=self._term)
        self._weights.add_(self._term)
