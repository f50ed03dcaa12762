# SPDX-License-Identifier: Apache-2.0
"""Jobs and their steps, as the journal stores them (docs/reference/jobs.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The work that a job does."""

    TRAIN = "train"
    ADOPT = "adopt"
    """Publishes models that were trained elsewhere."""
    PARALLEL = "unlearn parallel"
    SEQUENTIAL = "unlearn sequential"
    EXPERIMENT = "experiment"
    """Measures without using the chains."""


class JobState(StrEnum):
    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    """Refused before any step took effect."""
    ABORTED = "aborted"


class Act(StrEnum):
    """The action of a step."""

    COMPUTE = "compute"
    """Runs a task on the job's engine; the result stays in the job's store until the job ends."""
    STORE = "store"
    """Adds bytes to the stores."""
    KEYS = "keys"
    """Gives the data keys of the stored files to the members."""
    CERTIFY = "certify"
    """Drafts a proposal and has the committee decide; then plans the proposal's transactions."""
    TELL = "tell"
    """Gives the certificate to the members, who from then on finish the decision if necessary."""
    SEND = "send"
    """Sends a transaction and waits until it is mined."""
    CONFIRM = "confirm"
    """Asks both chains whether they still hold everything that was sent."""
    DELETE = "delete"
    """Deletes the replaced versions' bytes from the live store."""
    ERASE = "erase"
    """Has the members destroy the replaced versions' keys."""


class StepState(StrEnum):
    PLANNED = "planned"
    BEGUN = "begun"
    DONE = "done"
    DROPPED = "dropped"
    """Will not run, because its decision was withdrawn."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step to do, with its input as JSON."""

    act: Act
    subject: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a job.

    Attributes:
        number: unique in the journal, ascending.
        decision: number of its certificate, from 1; 0 for the job's own steps.
        begun, ended: seconds since 1970; `begun` is the latest attempt.
        transaction: hash of the step's transaction, if any.
        excluded: members excluded from the step, each with the reason.
    """

    number: int
    decision: int
    act: Act
    subject: str
    body: Mapping[str, Any]
    state: StepState
    begun: float | None = None
    ended: float | None = None
    transaction: bytes | None = None
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """The work of one command on the chains and the stores.

    Attributes:
        number: unique in the journal, from 1.
        request: the command's request, as JSON text.
        outcome: why the job failed or was aborted.
        begun, ended: seconds since 1970.
        result: figures of a finished job, as JSON.
    """

    number: int
    kind: Kind
    request: str
    state: JobState
    outcome: str
    begun: float
    ended: float | None
    steps: tuple[Step, ...]
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> tuple[Step, ...]:
        """Steps that were not dropped."""
        return tuple(step for step in self.steps if step.state is not StepState.DROPPED)

    @property
    def excluded(self) -> tuple[str, ...]:
        """Members excluded from a decision, each with the reason, without duplicates."""
        return tuple(dict.fromkeys(each for step in self.steps for each in step.excluded))
