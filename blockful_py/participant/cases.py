# SPDX-License-Identifier: Apache-2.0
"""Cases of persons who asked a participant to be forgotten, each with a deadline, in a locked document."""

from __future__ import annotations

import calendar
import hashlib
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Literal

from pydantic import Field

from blockful_py.errors import KeystoreError, RunError
from blockful_py.file_lock import FileLock
from blockful_py.forget import Forget
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.locked_document import LockedDocument
from blockful_py.participant.persons import Person
from blockful_py.record.fields import Part
from blockful_py.record.request import Number
from blockful_py.record.request_state import RequestStage

MAX_CASES_BYTES = 1 << 26
NEAR_DAYS = 7
"""Days before its deadline from which a case is warned of."""
FAILED = (RequestStage.LAPSED, RequestStage.DISMISSED)
"""Stages of requests that have forgotten nothing for good, so that the rows are to be asked for again."""


class Filing(Part):
    """A request for one or more cases, written before it is filed.

    Attributes:
        forget: SHA-256 of its `Forget` as text, in hexadecimal.
        after: the highest number of a filed request before it.
        request: its number; None until it is known to be filed.
    """

    forget: str = Field(pattern=r"^[0-9a-f]{64}$")
    after: int = Field(ge=0)
    request: int | None = None

    @classmethod
    def of(cls, forget: Forget, after: int, request: int | None = None) -> Filing:
        return cls(forget=_digest(forget), after=after, request=request)

    def is_of(self, number: int, forget: Forget) -> bool:
        """Whether the request of this number, which forgets this, may be its request."""
        return number > self.after and self.forget == _digest(forget)


class PersonCase(Part):
    """A person's case.

    Attributes:
        rows: the person's rows among the samples trained on.
        tested: the person's test samples, which no model was trained on.
        handed_out: whether these are public.
        answered: day on which the answer to the person was written; None before.
    """

    number: int = Field(ge=1)
    person: Person
    received: date
    due: date
    rows: tuple[Number, ...]
    tested: int = 0
    handed_out: bool = False
    filing: Filing | None = None
    answered: date | None = None

    @property
    def request(self) -> int | None:
        """Number of its request; None without one."""
        return None if self.filing is None else self.filing.request

    def is_collected(self, stages: Mapping[int, RequestStage]) -> bool:
        """Whether it waits to be filed: it never was, or its request failed.  `stages`: of requests."""
        return self.filing is None or (self.request is not None and stages.get(self.request) in FAILED)

    def standing(self, stages: Mapping[int, RequestStage]) -> str:
        """Its state, and the next step, in words."""
        if self.answered is not None:
            return f"answered on {self.answered}"
        if self.filing is None:
            return "collected, to be filed"
        if self.request is None:
            return "is being filed: repeat the command that was interrupted"
        if (stage := stages.get(self.request)) is None:
            return f"in request {self.request}"
        again = ", to be filed again" if stage in FAILED else ""
        return f"request {self.request} is {stage}{again or ', to be answered' * (stage == 'carried out')}"

    def warning(self, today: date, stages: Mapping[int, RequestStage]) -> str | None:
        """A warning if its deadline is near or over, or its request failed; None without a reason."""
        left = (self.due - today).days
        failed = self.request is not None and stages.get(self.request) in FAILED
        if self.answered is not None or (left > NEAR_DAYS and not failed):
            return None
        return f"case {self.number} {due_in(left)}: {self.standing(stages)}"


class Cases(Part):
    """All cases, by ascending number."""

    format: Literal["blockful-cases/1"] = "blockful-cases/1"
    cases: tuple[PersonCase, ...] = ()

    def __getitem__(self, number: int) -> PersonCase:
        """A case.  Raises RunError for an unknown number."""
        for case in self.cases:
            if case.number == number:
                return case
        raise RunError(f"there is no case {number}: see `blockful participant persons`.")

    def of(self, person: str) -> PersonCase | None:
        """A person's newest case; None without one."""
        return next((case for case in reversed(self.cases) if case.person == person), None)

    def having(self, changed: Iterable[PersonCase]) -> Cases:
        """The cases with these, which replace cases of the same numbers."""
        numbered = {case.number: case for case in (*self.cases, *changed)}
        return Cases(cases=tuple(numbered[number] for number in sorted(numbered)))


class CasesFile:
    """The cases in a participant's folder, which its keys open."""

    def __init__(self, folder: ParticipantFolder, keys: ReaderKeys) -> None:
        self._folder = folder
        self._file = LockedDocument(folder.cases, Cases, keys, MAX_CASES_BYTES)

    def read(self) -> Cases:
        """All cases.  Raises KeystoreError."""
        return self._file.read() or Cases()

    def write(self, cases: Cases) -> None:
        """Replaces all cases; the caller holds `writing`.  Raises KeystoreError."""
        self._file.write(cases)

    def warnings(self, today: date, stages: Mapping[int, RequestStage]) -> list[str]:
        """The warnings of all cases, as `PersonCase.warning`; one alone if they cannot be read."""
        try:
            cases = self.read().cases
        except KeystoreError as error:
            return [str(error)]
        return [said for case in cases if (said := case.warning(today, stages)) is not None]

    def writing(self) -> FileLock:
        """The lock of the process that writes cases.  Raises RunError while another one holds it."""
        path = self._folder.path / "cases.lock"
        return FileLock(
            path, lambda holder: RunError(f"{holder} works on the cases of {self._folder.path}: wait for it.")
        )


def _digest(forget: Forget) -> str:
    return hashlib.sha256(str(forget).encode()).hexdigest()


def due_in(days: int) -> str:
    """A deadline so many days from today, in words."""
    if days < 0:
        return f"was due {-days} {'day' if days == -1 else 'days'} ago"
    return "is due today" if days == 0 else f"is due in {days} {'day' if days == 1 else 'days'}"


def a_month_after(day: date) -> date:
    """The same day of the next month, or that month's last day (Regulation 1182/71, article 3)."""
    year, month = (day.year, day.month + 1) if day.month < 12 else (day.year + 1, 1)
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))
