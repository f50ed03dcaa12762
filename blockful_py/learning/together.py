# SPDX-License-Identifier: Apache-2.0
"""Trains many models of one architecture: in stacks if that is faster, else one after the other.

A model's bits depend only on its own weights, samples, settings and stream, not on the other models.  A stack
holds only models with the same settings and batch sizes, and `stacked` keeps their numbers separate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.curves import Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.device import network_errors, own_stream, products
from blockful_py.learning.gradient_steps import captures
from blockful_py.learning.models import Architecture
from blockful_py.learning.stack_training import Schedule, StackTraining, batches
from blockful_py.learning.stacked import FORMS, LARGEST_STACK, stacks_well
from blockful_py.learning.training import Fitted, fit, step_by_step
from blockful_py.learning.weights import Weights
from blockful_py.settings import TrainingSettings


@dataclass(frozen=True, slots=True, eq=False)
class TrainingJob:
    """One model to train.

    Attributes:
        weights: initial state dict.
        samples: n training samples; training runs on their device.
        settings: phi of the paper's eq. 3.
        stream: CPU generator that draws the batches.
    """

    weights: Weights
    samples: Samples
    settings: TrainingSettings
    stream: torch.Generator


Fitter = Callable[[Architecture, Sequence[TrainingJob]], tuple[Fitted, ...]]
"""Interface of `fit_together`, also for substitutes that give the same bits (`learning.training_task`)."""


def fit_together(architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
    """Trains every job as `fit` does; returns the results in order.

    Models trained one by one have the bits of `fit`; stacked ones agree with it up to rounding
    (docs/reference/learning.md).

    Raises:
        SettingsError: `together = "stacked"` for an architecture or settings that cannot be stacked.
        LearningError: as `fit`.
    """
    if len(jobs) > 1 and goes_beside(architecture, jobs):
        return fit_side_by_side(architecture, jobs)
    done: dict[int, Fitted] = {}
    for rows in units_of(architecture, jobs):
        first = jobs[rows[0]]
        if _stacks(architecture, first):
            listed = _fit_stack(architecture, _schedule(first), [jobs[i] for i in rows])
        else:
            listed = [fit(architecture, first.weights, first.samples, first.settings, first.stream)]
        done.update(zip(rows, listed, strict=True))
    return tuple(done[i] for i in range(len(jobs)))


def train_together(
    architecture: Architecture, jobs: Sequence[TrainingJob], fitter: Fitter = fit_together
) -> tuple[Weights, ...]:
    """Trains every job by `fit_by`; returns the weights alone."""
    return tuple(fitted.weights for fitted in fit_by(fitter, architecture, jobs))


def fit_by(fitter: Fitter, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
    """Trains every job by `fitter`; of a merged model, its own part, from the base alone.

    Raises as `fit_together`.
    """
    if not architecture.is_merged:
        return fitter(architecture, jobs)
    models = [architecture.merged(job.weights) for job in jobs]
    starts = [replace(job, weights=model.base_weights()) for job, model in zip(jobs, models, strict=True)]
    return tuple(
        Fitted(model.learned(fitted.weights), fitted.curve)
        for model, fitted in zip(models, fitter(architecture.trained, starts), strict=True)
    )


def units_of(architecture: Architecture, jobs: Sequence[TrainingJob]) -> list[list[int]]:
    """Positions of the jobs that train at once: the jobs of a stack, or a single one.

    Raises SettingsError as `fit_together`.
    """
    units: list[list[int]] = []
    stacks: dict[Schedule, list[int]] = {}
    for i, job in enumerate(jobs):
        if _stacks(architecture, job):
            stacks.setdefault(_schedule(job), []).append(i)
        else:
            units.append([i])
    return [*units, *(rows for members in stacks.values() for rows in _split(members))]


def _schedule(job: TrainingJob) -> Schedule:
    return Schedule.of(job.settings, len(job.samples))


def _stacks(architecture: Architecture, job: TrainingJob) -> bool:
    """Whether a job trains in a stack; False without samples, which cannot be trained on."""
    return len(job.samples) > 0 and is_stacked(architecture, job.settings, job.samples.x.device)


def is_stacked(architecture: Architecture, settings: TrainingSettings, device: torch.device) -> bool:
    """Whether a model trains in a stack, possibly alone.

    The settings, the network, its input size and the kind of device decide, never the number of models.

    Raises SettingsError: `together = "stacked"` for an architecture or settings that cannot be stacked.
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
    """Splits jobs into stacks of nearly equal size."""
    parts = math.ceil(len(members) / LARGEST_STACK)
    return [members[k * len(members) // parts : (k + 1) * len(members) // parts] for k in range(parts)]


def _fit_stack(architecture: Architecture, schedule: Schedule, jobs: Sequence[TrainingJob]) -> list[Fitted]:
    """Trains models of one schedule in one stack."""
    sizes = [len(job.samples) for job in jobs]
    with network_errors(jobs[0].samples.x.device):
        training = StackTraining(
            architecture, schedule, [job.weights for job in jobs], [job.samples for job in jobs]
        )
        tally = Tally()
        for step, (rows, shares) in enumerate(batches(schedule, sizes, [job.stream for job in jobs])):
            tally.step(*training.step(step, rows, shares))
        curves = tally.curves(sizes, schedule.settings.epochs)
    return [Fitted(weights, curve) for weights, curve in zip(training.weights(), curves, strict=True)]


LANES = 8
"""Number of models that train side by side on a GPU."""


def goes_beside(architecture: Architecture, jobs: Sequence[TrainingJob]) -> bool:
    """Whether models train side by side: several small ones do not fill a GPU."""
    devices, settings = {job.samples.x.device for job in jobs}, {job.settings for job in jobs}
    (first, *_) = devices
    return (
        captures(architecture, first)
        and len(devices) == len(settings) == 1
        and all(len(job.samples) for job in jobs)
        and not any(_stacks(architecture, job) for job in jobs)
        and jobs[0].settings.privacy is None
        and not architecture.is_sums
    )


def fit_side_by_side(architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
    """Trains networks of one device and setting at once, a step of each in turn, each lane on its own stream.

    Each has the bits of `fit`, as no product holds numbers of two models.  If the device lacks the memory,
    they train one by one.  Raises LearningError as `fit`.
    """
    device = jobs[0].samples.x.device
    drawn = [job.stream.get_state() for job in jobs]
    waiting = iter(enumerate(jobs))
    done: dict[int, Fitted] = {}

    def lane() -> Iterator[None]:
        stream = own_stream(device)
        for place, job in waiting:
            training = step_by_step(architecture, job.weights, job.samples, job.settings, job.stream)
            while place not in done:
                with torch.cuda.stream(stream):
                    try:
                        next(training)
                    except StopIteration as end:
                        done[place] = end.value
                yield

    with network_errors(device), products(jobs[0].settings.precision):
        lanes = [lane() for _ in range(min(LANES, len(jobs)))]
        try:
            while lanes:
                lanes = [each for each in lanes if next(each, _END) is not _END]
        except torch.OutOfMemoryError:
            lanes.clear()
    for place, (job, state) in enumerate(zip(jobs, drawn, strict=True)):
        if place not in done:
            job.stream.set_state(state)
            done[place] = fit(architecture, job.weights, job.samples, job.settings, job.stream)
    return tuple(done[i] for i in range(len(jobs)))


_END = object()
