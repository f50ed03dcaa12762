# SPDX-License-Identifier: Apache-2.0
"""Training in intervals: records the state at each boundary, and replays one interval from its batches.

Only for stacks of one model, whose bits are the same on every x86-64 processor (docs/reference/learning.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice, pairwise

import torch
from torch import Tensor

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.curves import Tally
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.stack_training import Schedule, StackTraining, batches
from blockful_py.learning.together import TrainingJob, is_stacked
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights, digest_of, require_finite
from blockful_py.settings import TrainingSettings

INTERVALS = 128
"""Maximum number of intervals of a training.

Fewer intervals increase the minimum that an owner must disclose; more intervals increase the number of
states.
"""
VELOCITY = "sgd/velocity"
"""Name of the velocity among a state's tensors; no network's tensor has a slash in its name."""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """State of a training between two steps.

    Attributes:
        weights: state dict, on the CPU.
        velocity: SGD's velocity, float32 (D,), in the order of the stacked weights.
    """

    weights: Weights
    velocity: Tensor

    def digest(self) -> str:
        """SHA-256 of the weights, followed by SHA-256 of the velocity; 128 hexadecimal digits."""
        return weights_digest(self.weights) + sha256(self.velocity.numpy().tobytes()).hexdigest()

    def tensors(self) -> Weights:
        return {**self.weights, VELOCITY: self.velocity}

    @classmethod
    def of(cls, tensors: Weights) -> State:
        """Inverse of `tensors`.  Raises FormatError unless the velocity is float32 (D,)."""
        velocity = tensors.get(VELOCITY)
        if velocity is None or velocity.dtype != torch.float32 or velocity.dim() != 1:
            raise FormatError("a state has no velocity, or one of another form")
        return cls({name: each for name, each in tensors.items() if name != VELOCITY}, tensors[VELOCITY])

    @classmethod
    def first(cls, weights: Weights) -> State:
        """The state before the first step."""
        size = sum(tensor.numel() for tensor in weights.values())
        return cls(weights, torch.zeros(size))


def weights_digest(weights: Weights) -> str:
    """SHA-256 of the weights' bytes; 64 hexadecimal digits."""
    return digest_of(weights).hex()


def can_be_replayed(architecture: Architecture, settings: TrainingSettings) -> bool:
    """Whether others can reproduce the bits of a training on their CPUs.  Raises as `is_stacked`."""
    return settings.trainer is None and is_stacked(architecture.trained, settings, torch.device("cpu"))


def ends_of(schedule: Schedule) -> tuple[int, ...]:
    """Boundary steps of the m intervals, 0 and S included: `floor(i S / m)`, `m = min(S, INTERVALS)`."""
    count = min(schedule.steps, INTERVALS)
    return tuple(i * schedule.steps // count for i in range(count + 1))


def fit_in_intervals(
    architecture: Architecture, job: TrainingJob, visit: Callable[[int, State], None]
) -> Fitted:
    """Trains one job as `fit_together` does; calls `visit` with each boundary's number, from 0, and state."""
    size = len(job.samples)
    schedule = Schedule.of(job.settings, size)
    training = StackTraining(architecture, schedule, [job.weights], [job.samples])
    numbers, tally = {step: i for i, step in enumerate(ends_of(schedule))}, Tally()
    for step, (rows, shares) in enumerate(batches(schedule, [size], [job.stream])):
        if step in numbers:
            visit(numbers[step], _state(training))
        tally.step(*training.step(step, rows, shares))
    last = _state(training)
    visit(len(numbers) - 1, last)
    return Fitted(last.weights, tally.curves([size], job.settings.epochs)[0])


class Recorder:
    """A `Fitter` of one model that records the digests of its states.

    Attributes:
        job: the training; None before the first one.
        states: digests of the states at all boundaries.
    """

    def __init__(self) -> None:
        self.job: TrainingJob | None = None
        self.states: list[str] = []

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (self.job,) = jobs

        def note(_: int, state: State) -> None:
            self.states.append(state.digest())

        return (fit_in_intervals(architecture, self._fresh(), note),)

    def rows(self, intervals: Sequence[int]) -> Tensor:
        """Rows read by some intervals, as in `rows_of`.  Raises LearningError before a training."""
        job = self._fresh()
        return rows_of(job.settings, len(job.samples), job.stream, intervals)

    def states_at(self, architecture: Architecture, boundaries: Sequence[int]) -> dict[int, State]:
        """States at some boundaries, by training again if need be.  Raises as `rows`."""
        job = self._fresh()
        found = {0: State.first(job.weights)} if 0 in boundaries else {}
        if found.keys() >= {*boundaries}:
            return found

        def keep(number: int, state: State) -> None:
            if number in boundaries:
                found[number] = state

        fit_in_intervals(architecture, job, keep)
        return found

    def _fresh(self) -> TrainingJob:
        if self.job is None:
            raise LearningError("there was no training that could be shown.")
        return replace(self.job, stream=self.job.stream.clone_state())


def rows_of(
    settings: TrainingSettings, size: int, stream: torch.Generator, intervals: Sequence[int]
) -> Tensor:
    """Rows of `size` samples that the batches of some intervals read, padding included; int64, ascending."""
    read = rows_by_interval(settings, size, stream)
    shown = torch.zeros(size, dtype=torch.bool)
    for i in intervals:
        shown[read[i]] = True
    return shown.nonzero().flatten()


def rows_by_interval(settings: TrainingSettings, size: int, stream: torch.Generator) -> list[Tensor]:
    """Rows of `size` samples that the batches of each interval read, padding included; int64."""
    schedule = Schedule.of(settings, size)
    drawn = [rows.flatten() for rows, _ in batches(schedule, [size], [stream])]
    return [torch.cat(drawn[first:last]) for first, last in pairwise(ends_of(schedule))]


def shown_states(architecture: Architecture, intervals: Sequence[int], count: int) -> tuple[int, ...]:
    """The boundaries whose states a disclosure of some of `count` intervals shows.

    The published part of a merged model is a rounding of the training's last weights, so its last state is
    shown too.
    """
    return (*begins_of(intervals), *([count] * architecture.is_merged))


def begins_of(intervals: Sequence[int]) -> tuple[int, ...]:
    """The intervals, of some in ascending order, that do not follow another one of them."""
    return tuple(i for i in intervals if i - 1 not in intervals)


def replay(
    architecture: Architecture,
    settings: TrainingSettings,
    size: int,
    stream: torch.Generator,
    interval: int,
    begin: State,
    rows: Tensor,
    samples: Samples,
) -> Iterator[State]:
    """Replays a training from an interval on; yields the state at the end of each, when it is asked for.

    Args:
        size: number of all samples of the training.
        stream: fresh, seeded as in the training.
        begin: state at the interval's beginning.
        rows: u positions among all samples, ascending, at least the positions that the replayed intervals
            read (`rows_of`).
        samples: the u samples at `rows`.

    Raises LearningError for a state of another architecture, or an end state that is not finite.
    """
    schedule = Schedule.of(settings, size)
    training = StackTraining(architecture, schedule, [begin.weights], [samples])
    if begin.velocity.shape != training.optimiser.velocity.shape:
        raise LearningError("a state's velocity belongs to another network.")
    require_finite({VELOCITY: begin.velocity}, "a state")
    training.optimiser.velocity.copy_(begin.velocity)
    ends = ends_of(schedule)[interval:]
    steps = islice(enumerate(batches(schedule, [size], [stream])), ends[0], None)
    for first, last in pairwise(ends):
        for step, (drawn, shares) in islice(steps, last - first):
            training.step(step, torch.searchsorted(rows, drawn), shares)
        yield _state(training)


def _state(training: StackTraining) -> State:
    return State(training.weights()[0], training.optimiser.velocity.clone())
