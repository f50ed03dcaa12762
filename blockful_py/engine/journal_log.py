# SPDX-License-Identifier: Apache-2.0
"""The entries of a journal, each bound to all earlier ones, and the jobs that they describe.

    digest(0) = sha256("blockful journal" || run)
    digest(n) = sha256(digest(n - 1) || n as 8 bytes || content(n))

Altering, removing or moving an entry breaks the chain; the error names the first entry that does not fit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from blockful_py.engine.jobs import Act, Job, JobState, Kind, Step, StepState

Bodies = Mapping[int, Mapping[str, Any]]
"""Bodies of steps, by step number."""
EMPTY: Mapping[str, Any] = {}


class BrokenLogError(Exception):
    """An entry does not follow from the earlier ones; the message names it and the fault."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the journal; `content` is JSON."""

    number: int
    content: str
    digest: bytes


@dataclass(slots=True)
class _Record:
    """A job under construction, while its entries are read."""

    job: Job
    steps: dict[int, Step] = field(default_factory=dict)


def body_digest(text: str) -> str:
    """Digest that identifies a step's body in an entry."""
    return sha256(text.encode()).hexdigest()


class JournalLog:
    """The entries read so far, as jobs.

    Attributes:
        last: number of the last entry.
        steps: number of the last step.
        bodies: digests of the bodies of the open job's steps.
    """

    def __init__(self, run: str) -> None:
        self.last = 0
        self.steps = 0
        self.bodies: dict[int, str] = {}
        self._digest = sha256(b"blockful journal" + run.encode()).digest()
        self._records: list[_Record] = []

    def read(self, entries: Iterable[Entry]) -> None:
        """Reads further entries.  Raises BrokenLogError at the first one that does not fit."""
        for entry in entries:
            if entry.number != self.last + 1:
                raise BrokenLogError(f"entry {self.last + 1} is missing")
            if not isinstance(entry.content, str) or entry.digest != self._next(entry.content):
                raise BrokenLogError(
                    f"entry {entry.number} was altered or moved, or is of another journal: "
                    f"{str(entry.content)[:100]}"
                )
            try:
                self._apply(json.loads(entry.content))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
                raise BrokenLogError(
                    f"entry {entry.number} does not follow from those before it ({error!r})"
                ) from None
            self.last, self._digest = entry.number, entry.digest

    def written(self, content: Mapping[str, Any]) -> Entry:
        """Builds the next entry from its content, without reading it into the log."""
        text = json.dumps(content, sort_keys=True)
        return Entry(self.last + 1, text, self._next(text))

    def jobs(self, bodies: Bodies) -> tuple[Job, ...]:
        """All jobs, oldest first; `bodies` belong to the open job's steps."""
        return tuple(_with_bodies(record, bodies) for record in self._records)

    def open_job(self, bodies: Bodies) -> Job | None:
        """The open job, if any, with its steps' bodies."""
        record = self._records[-1] if self._records else None
        if record is None or record.job.state is not JobState.OPEN:
            return None
        return _with_bodies(record, bodies)

    @property
    def is_open(self) -> bool:
        return bool(self._records) and self._records[-1].job.state is JobState.OPEN

    @property
    def decisions(self) -> int:
        """Number of the open job's last decision; 0 before the first."""
        return max((step.decision for step in self._records[-1].steps.values()), default=0)

    def _next(self, content: str) -> bytes:
        return _bound(self._digest, self.last + 1, content)

    def _apply(self, entry: Mapping[str, Any]) -> None:
        kind = entry["entry"]
        if kind == "begin":
            self._begin(entry)
            return
        if not self.is_open:
            raise ValueError("no job is open")
        record = self._records[-1]
        if kind == "plan":
            self._plan(record, entry)
        elif kind == "close":
            record.job = replace(
                record.job,
                state=JobState(entry["state"]),
                outcome=entry["outcome"],
                ended=float(entry["at"]),
                result=dict(entry["result"]),
            )
            self.bodies.clear()
        elif kind == "drop":
            self._change(record, entry, state=StepState.DROPPED)
        elif kind == "take":
            self._change(record, entry, state=StepState.BEGUN, begun=float(entry["at"]))
        elif kind == "done":
            sent = entry["transaction"]
            known = record.steps[entry["step"]].transaction
            self._change(
                record,
                entry,
                state=StepState.DONE,
                ended=float(entry["at"]),
                transaction=known if sent is None else bytes.fromhex(sent),
                excluded=tuple(map(str, entry["excluded"])),
            )
            self.bodies[entry["step"]] = entry["body"]
        else:
            raise ValueError(f"unknown kind {kind!r}")

    def _begin(self, entry: Mapping[str, Any]) -> None:
        if self.is_open:
            raise ValueError("another job is open")
        number, at = len(self._records) + 1, float(entry["at"])
        job = Job(number, Kind(entry["kind"]), str(entry["request"]), JobState.OPEN, "", at, None, ())
        self._records.append(_Record(job))

    def _plan(self, record: _Record, entry: Mapping[str, Any]) -> None:
        self.steps += 1
        record.steps[self.steps] = Step(
            self.steps,
            int(entry["decision"]),
            Act(entry["act"]),
            str(entry["subject"]),
            EMPTY,
            StepState.PLANNED,
        )
        self.bodies[self.steps] = entry["body"]

    @staticmethod
    def _change(record: _Record, entry: Mapping[str, Any], **changes: Any) -> None:
        number = entry["step"]
        record.steps[number] = replace(record.steps[number], **changes)


def _with_bodies(record: _Record, bodies: Bodies) -> Job:
    is_open = record.job.state is JobState.OPEN
    steps = (replace(step, body=bodies[step.number] if is_open else EMPTY) for step in record.steps.values())
    return replace(record.job, steps=tuple(steps))


def _bound(digest: bytes, number: int, content: str) -> bytes:
    return sha256(digest + number.to_bytes(8, "big") + content.encode()).digest()
