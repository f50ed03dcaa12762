# SPDX-License-Identifier: Apache-2.0
"""A member's spot check of a training: recomputes the disclosed intervals, bit for bit.

Source: Jia et al. 2021 (proof of learning).  Differences and their reasons: docs/explanation/spot-checks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from blockful_py.crypto.spot_check import challenged, commitment, leaf
from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.disclosure import Disclosure, sample_bytes
from blockful_py.learning.intervals import State, can_be_replayed, ends_of, replay, rows_of, weights_digest
from blockful_py.learning.models import Architecture
from blockful_py.learning.stack_training import Schedule
from blockful_py.learning.streams import generator
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
class ClaimedTraining:
    """A training for a request, as members know it without relying on the owner.

    Attributes:
        training: phi of the standing statement.
        user, round: owner and round of the model.
        samples: the owner's commitment to its samples, from the standing statement.
        seed: seed of the schedule (`record.training_trace.schedule_seed`).
        purpose: name of the stream that shuffles the samples.
        forgets: data excluded from the training: this request's, then earlier ones'.
        start: mean of the clean references.
        result: the proposed weights.
    """

    architecture: Architecture
    training: TrainingSettings
    user: int
    round: int
    samples: str
    seed: int
    purpose: str
    forgets: Sequence[Forget]
    start: Weights
    result: Weights

    def stream(self) -> torch.Generator:
        """A fresh stream that draws the batches."""
        return generator(self.seed, self.purpose, self.user, self.round)


def check_disclosure(
    claim: ClaimedTraining, disclosure: Disclosure, trace: CommittedTrace, committed: bytes, beacon: bytes
) -> None:
    """Checks a disclosure against the claimed training.

    Args:
        trace: the disclosure's trace; the caller compares it with the commitment.
        committed: digest of the commitment's CID.
        beacon: hash of the block that holds the commitment, 32 bytes.

    Raises LearningError, which names the first fault.
    """
    _check_samples(claim, disclosure, trace)
    _check_states(claim, trace)
    intervals = challenged(beacon, committed, trace.intervals, trace.challenged)
    _require(
        tuple(sorted(disclosure.states)) == intervals,
        f"intervals {_listed(intervals)} are challenged, {_listed(sorted(disclosure.states))} shown",
    )
    size = len(trace.kept)
    rows = rows_of(claim.training, size, claim.stream(), intervals)
    _require(torch.equal(disclosure.rows, rows), "the disclosed samples are not the challenged batches'")
    _check_shown(claim, disclosure, trace)
    for i in intervals:
        begin = disclosure.states[i]
        require_same_form({"the start": claim.start, f"the state before interval {i}": begin.weights})
        _require(begin.digest() == trace.states[i], f"the state before interval {i} is not the committed one")
        end = replay(
            claim.architecture,
            claim.training,
            size,
            claim.stream(),
            i,
            begin,
            disclosure.rows,
            disclosure.samples,
        )
        _require(end.digest() == trace.states[i + 1], f"interval {i} does not lead to the committed state")


def _check_samples(claim: ClaimedTraining, disclosure: Disclosure, trace: CommittedTrace) -> None:
    leaves = [row.tobytes() for row in disclosure.leaves.numpy()]
    _require(
        trace.samples == claim.samples == commitment(leaves).hex(),
        "the samples differ from the owner's commitment in its statement",
    )
    _require(trace.kept[-1] < len(leaves), f"row {trace.kept[-1]} is kept, of {len(leaves)} there are")
    kept = set(trace.kept)
    for forget in claim.forgets:
        _require(claim.user not in forget.clients, f"no data of user {claim.user} may be kept")
        found = sorted(kept.intersection(forget.rows(claim.user)))
        _require(not found, f"row {_listed(found)} is kept, but must be forgotten")


def _check_states(claim: ClaimedTraining, trace: CommittedTrace) -> None:
    _require(
        can_be_replayed(claim.architecture, claim.training),
        "this training cannot be reproduced bit for bit",
    )
    expected = len(ends_of(Schedule.of(claim.training, len(trace.kept)))) - 1
    _require(
        trace.intervals == expected, f"the training has {expected} intervals, the trace {trace.intervals}"
    )
    _require(
        State.first(claim.start).digest() == trace.states[0],
        "the training does not begin at the mean of the model's references",
    )
    _require(
        trace.states[-1].startswith(weights_digest(claim.result)),
        "the new weights are not the training's final weights",
    )


def _check_shown(claim: ClaimedTraining, disclosure: Disclosure, trace: CommittedTrace) -> None:
    _require(
        tuple(disclosure.samples.x.shape[1:]) == claim.architecture.input_shape,
        "the shown samples have another shape than the network takes",
    )
    labels = disclosure.samples.y.tolist()
    gone = {label for forget in claim.forgets for label in forget.classes}
    for place, row in enumerate(disclosure.rows.tolist()):
        shown = leaf(disclosure.salts[place].numpy().tobytes(), sample_bytes(disclosure.samples, place))
        _require(
            shown == disclosure.leaves[trace.kept[row]].numpy().tobytes(),
            f"the sample at row {trace.kept[row]} is not the committed one",
        )
        _require(
            0 <= labels[place] < claim.architecture.class_count,
            f"the sample at row {trace.kept[row]} has label {labels[place]}",
        )
        _require(
            labels[place] not in gone,
            f"the sample at row {trace.kept[row]} is of class {labels[place]}, which must be forgotten",
        )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise LearningError(f"the spot check fails: {reason}")
