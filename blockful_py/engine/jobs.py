# SPDX-License-Identifier: Apache-2.0
"""Jobs and their steps, as the journal stores them (docs/reference/jobs.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What a job does."""

    TRAIN = "train"
    ADOPT = "adopt"
    """Publishes models that were trained elsewhere."""
    PARALLEL = "unlearn parallel"
    SEQUENTIAL = "unlearn sequential"
    EXPERIMENT = "experiment"
    """Measures, away from chains."""


class JobState(StrEnum):
    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    """Refused, with nothing half-done."""
    ABORTED = "aborted"


class Act(StrEnum):
    """What a step does."""

    COMPUTE = "compute"
    """Has a task carried out by the job's engine; the result stays in the job's store until it ends."""
    STORE = "store"
    """Adds bytes to the stores."""
    KEYS = "keys"
    """Gives the data keys of what was stored to the members."""
    CERTIFY = "certify"
    """Drafts a proposal and has the committee decide; its transactions are planned when it is done."""
    TELL = "tell"
    """Gives the certificate to the members, who finish it from then on if need be."""
    SEND = "send"
    """Sends a transaction and waits until it is mined."""
    CONFIRM = "confirm"
    """Asks both chains whether they still hold all that was sent."""
    DELETE = "delete"
    """Deletes the replaced versions' bytes from the live store."""
    ERASE = "erase"
    """Has the members destroy the replaced versions' keys."""


class StepState(StrEnum):
    PLANNED = "planned"
    BEGUN = "begun"
    DONE = "done"
    DROPPED = "dropped"
    """Will not be carried out: its decision was withdrawn."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step to be taken, and what it takes, as JSON."""

    act: Act
    subject: str
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a job.

    Attributes:
        number: unique in the journal, ascending.
        decision: the certificate that it belongs to, from 1; 0 for the job's own steps.
        begun, ended: when, in seconds since 1970; `begun` is the latest attempt.
        transaction: hash of the transaction that did it, where one did.
        excluded: members that were excluded from it, each with the reason.
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
    """One command's work on the chains and the stores.

    Attributes:
        number: unique in the journal, from 1.
        request: what was asked, as JSON text.
        outcome: why it failed or was aborted.
        begun, ended: when, in seconds since 1970.
        result: figures of a job that is done, as JSON.
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
        """Members that were excluded from a decision, each with the reason, without duplicates."""
        return tuple(dict.fromkeys(each for step in self.steps for each in step.excluded))

    @property
    def decisions(self) -> dict[int, tuple[Step, ...]]:
        """Steps that were not dropped, by decision."""
        numbers = sorted({step.decision for step in self.valid if step.decision})
        return {number: tuple(s for s in self.valid if s.decision == number) for number in numbers}
