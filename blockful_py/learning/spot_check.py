# SPDX-License-Identifier: Apache-2.0
"""Checks a training by recomputing disclosed intervals, bit for bit: a member some, an auditor all.

Source: Jia et al. 2021 (proof of learning).  Differences and their reasons: docs/explanation/spot-checks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import torch

from blockful_py.crypto.spot_check import commitment, leaf
from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.disclosure import Disclosure, sample_bytes
from blockful_py.learning.intervals import (
    State,
    begins_of,
    can_be_replayed,
    ends_of,
    replay,
    rows_by_interval,
    rows_of,
    shown_states,
    weights_digest,
)
from blockful_py.learning.models import Architecture
from blockful_py.learning.stack_training import Schedule
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import OWN
from blockful_py.learning.weights import Weights, require_same_form
from blockful_py.settings import TrainingSettings


class CommittedTrace(Protocol):
    """The trace that the owner committed to (`record.training_trace`)."""

    @property
    def samples(self) -> str: ...

    @property
    def kept(self) -> Sequence[int]: ...

    @property
    def challenged(self) -> int: ...

    @property
    def states(self) -> Sequence[str]: ...

    @property
    def intervals(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class RequestedTraining:
    """A training for a request, as the record fixes it without relying on the owner.

    Attributes:
        training: phi of the standing statement.
        user, round: owner and round of the model.
        samples: the owner's commitment to its samples, from the standing statement.
        seed: seed of the schedule (`record.training_trace.schedule_seed`).
        purpose: name of the stream that shuffles the samples.
        forgets: data excluded from the training: this request's, then earlier ones'.
    """

    architecture: Architecture
    training: TrainingSettings
    user: int
    round: int
    samples: str
    seed: int
    purpose: str
    forgets: Sequence[Forget]

    def stream(self) -> torch.Generator:
        """A fresh stream that draws the batches."""
        return generator(self.seed, self.purpose, self.user, self.round)

    def claimed(self, start: Weights, result: Weights) -> ClaimedTraining:
        """This training with its ends."""
        facts = {each.name: getattr(self, each.name) for each in fields(RequestedTraining)}
        return ClaimedTraining(**facts, start=start, result=result)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedTraining(RequestedTraining):
    """A training for a request, with its ends, which members read.

    Attributes:
        start: mean of the clean references; of a merged model a state dict with its base.
        result: the proposed weights.
    """

    start: Weights
    result: Weights

    @property
    def begin(self) -> Weights:
        """The network's weights before the first step."""
        if not self.architecture.is_merged:
            return self.start
        return self.architecture.merged(self.start).base_weights()


def check_disclosure(
    claim: ClaimedTraining, disclosure: Disclosure, trace: CommittedTrace, intervals: Sequence[int]
) -> None:
    """Checks a disclosure of some intervals, in ascending order, against the claimed training.

    Without intervals, only the trace and the list of leaves are checked.

    `trace`: the disclosure's trace; the caller compares it with the commitment.

    Raises LearningError, which names the first fault.
    """
    _check_samples(claim, disclosure, trace)
    _check_length(claim, trace)
    begin = claim.begin
    place = "base" if claim.architecture.is_merged else "mean of the model's references"
    _require(State.first(begin).digest() == trace.states[0], f"the training does not begin at the {place}")
    for i, state in disclosure.states.items():
        require_same_form({"the start": begin, f"the state before interval {i}": state.weights})
    _check_shown(claim, disclosure, trace, intervals)
    _check_result(claim, disclosure, trace)
    fault = _first_fault(claim, disclosure, trace, intervals)
    if fault is not None:
        raise LearningError(f"the spot check fails: {fault.reason}")


def first_fault(training: RequestedTraining, disclosure: Disclosure, trace: CommittedTrace) -> int | None:
    """Replays a whole training; the first interval that the trace belies, or None.

    Whoever is shown that one interval can see the fault (`check_disclosure`).

    Raises LearningError if the disclosure differs from the commitments, so that nothing follows about the
    training.
    """
    _check_samples(training, disclosure, trace)
    _check_length(training, trace)
    intervals = range(trace.intervals)
    _check_shown(training, disclosure, trace, intervals)
    fault = _first_fault(training, disclosure, trace, intervals)
    return None if fault is None else fault.interval


@dataclass(frozen=True, slots=True)
class _Fault:
    interval: int
    reason: str


def _first_fault(
    training: RequestedTraining, disclosure: Disclosure, trace: CommittedTrace, intervals: Sequence[int]
) -> _Fault | None:
    """The first of the intervals that reads a wrong sample, or does not lead to the committed state."""
    if not intervals:
        return None
    size, wrong = len(trace.kept), _wrong_labels(training, disclosure, trace)
    read, begins = rows_by_interval(training.training, size, training.stream()), begins_of(intervals)
    recipe = (training.architecture.trained, training.training, size)
    for i in intervals:
        for row in read[i].tolist():
            if row in wrong:
                return _Fault(i, wrong[row])
        if i in begins:
            begin, stream = disclosure.states[i], training.stream()
            replayed = replay(*recipe, stream, i, begin, disclosure.rows, disclosure.samples)
        try:
            reached = next(replayed).digest()
        except LearningError as error:
            return _Fault(i, f"interval {i} cannot be computed: {error}")
        if reached != trace.states[i + 1]:
            return _Fault(i, f"interval {i} does not lead to the committed state")
    return None


def _check_samples(training: RequestedTraining, disclosure: Disclosure, trace: CommittedTrace) -> None:
    leaves = [row.tobytes() for row in disclosure.leaves.numpy()]
    _require(
        trace.samples == training.samples == commitment(leaves).hex(),
        "the samples differ from the owner's commitment in its statement",
    )
    _require(trace.kept[-1] < len(leaves), f"row {trace.kept[-1]} is kept, of {len(leaves)} there are")
    kept = set(trace.kept)
    for forget in training.forgets:
        _require(training.user not in forget.clients, f"no data of user {training.user} may be kept")
        found = sorted(kept.intersection(forget.rows(training.user)))
        _require(not found, f"row {_listed(found)} is kept, but must be forgotten")


def _check_length(training: RequestedTraining, trace: CommittedTrace) -> None:
    _require(
        can_be_replayed(training.architecture, training.training),
        "this training cannot be reproduced bit for bit",
    )
    expected = len(ends_of(Schedule.of(training.training, len(trace.kept)))) - 1
    _require(
        trace.intervals == expected, f"the training has {expected} intervals, the trace {trace.intervals}"
    )


def _check_result(claim: ClaimedTraining, disclosure: Disclosure, trace: CommittedTrace) -> None:
    """Checks that the new weights, or a merged model's new part, are the result of the training."""
    if claim.architecture.is_merged:
        last = disclosure.states[trace.intervals].weights
        part = claim.architecture.merged(claim.start).learned(last)[OWN]
        _require(part.equal(claim.result[OWN]), "the new part is not the change that the training made")
        return
    _require(
        trace.states[-1].startswith(weights_digest(claim.result)),
        "the new weights are not the training's final weights",
    )


def _check_shown(
    training: RequestedTraining, disclosure: Disclosure, trace: CommittedTrace, intervals: Sequence[int]
) -> None:
    """Checks that the disclosure shows the intervals, with samples and states that were committed to."""
    needed = shown_states(training.architecture, intervals, trace.intervals)
    shown = tuple(sorted(disclosure.states))
    _require(
        shown == needed,
        f"the states before intervals {_listed(needed)} are needed, {_listed(shown)} shown",
    )
    rows = rows_of(training.training, len(trace.kept), training.stream(), intervals)
    _require(torch.equal(disclosure.rows, rows), "the disclosed samples are not the challenged batches'")
    _require(
        tuple(disclosure.samples.x.shape[1:]) == training.architecture.input_shape,
        "the shown samples have another shape than the network takes",
    )
    for place, row in enumerate(disclosure.rows.tolist()):
        found = leaf(disclosure.salts[place].numpy().tobytes(), sample_bytes(disclosure.samples, place))
        _require(
            found == disclosure.leaves[trace.kept[row]].numpy().tobytes(),
            f"the sample at row {trace.kept[row]} is not the committed one",
        )
    for i in needed:
        committed = disclosure.states[i].digest() == trace.states[i]
        _require(committed, f"the state before interval {i} is not the committed one")


def _wrong_labels(
    training: RequestedTraining, disclosure: Disclosure, trace: CommittedTrace
) -> dict[int, str]:
    """The disclosed rows, among those trained on, that may not be, each with the reason."""
    wrong, gone = {}, {label for forget in training.forgets for label in forget.classes}
    for row, label in zip(disclosure.rows.tolist(), disclosure.samples.y.tolist(), strict=True):
        if not 0 <= label < training.architecture.class_count:
            wrong[row] = f"the sample at row {trace.kept[row]} has label {label}"
        elif label in gone:
            said = f"the sample at row {trace.kept[row]} is of class {label}, which must be forgotten"
            wrong[row] = said
    return wrong


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise LearningError(f"the spot check fails: {reason}")
