# SPDX-License-Identifier: Apache-2.0
"""Finds the rows of persons who asked to be forgotten, and files requests for their cases.

A filing is written into its cases before the request is filed, so that a repetition after a crash finds the
request on the chain by its rows, and files it only if it is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from blockful_py.errors import RunError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.participant.cases import FAILED, Cases, CasesFile, Filing, PersonCase, a_month_after
from blockful_py.participant.persons import PersonIndex
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.review.admission import models_of
from blockful_py.record.request import Request
from blockful_py.record.request_state import Filed, RequestStage
from blockful_py.types import Address, RequestState


def noted(
    cases: Cases, index: PersonIndex, persons: Sequence[str], today: date, days: int | None
) -> tuple[PersonCase, ...]:
    """A case for each person, in order: the present one if it covers all rows, else a new one.

    `days`: length of a new case's deadline; None for a month.  Raises RunError, which counts the persons from
    1, if the index does not have one, or no model was trained on its rows.
    """
    found = dict[str, PersonCase]()
    for number, person in enumerate(persons, start=1):
        rows, tested = index.trained.get(person, ()), index.tested.get(person, 0)
        which = f"identifier {number}" if len(persons) > 1 else "the identifier"
        if not rows:
            raise RunError(f"{_absent(which, tested, index)} Nothing was noted or filed.")
        last = found.get(person) or cases.of(person)
        if last is not None and last.filing is None:
            last = last.model_copy(update={"rows": rows})
        elif last is None or set(rows) - set(last.rows):
            last = PersonCase(
                number=max((case.number for case in (*cases.cases, *found.values())), default=0) + 1,
                person=person,
                received=today,
                due=a_month_after(today) if days is None else today + timedelta(days),
                rows=rows,
                tested=tested,
                handed_out=index.handed_out,
            )
        found[person] = last
    return tuple(found.values())


def _absent(which: str, tested: int, index: PersonIndex) -> str:
    if not tested:
        return (
            f"no row belongs to {which} (column {index.column!r}; upper and lower case and leading zeros "
            "count)."
        )
    public = "public, and cannot be taken back" if index.handed_out else "test samples of this participant"
    return f"no model was trained on rows of {which}: the {tested} that it has are {public}."


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that this participant filed."""

    number: int
    request: Request
    stage: RequestStage

    def rows(self, user: int, size: int) -> frozenset[int]:
        """The user's rows among its `size` samples that the request names."""
        if self.request.forget.level is Level.CLIENT:
            return frozenset(range(size))
        return frozenset(self.request.forget.rows(user))


class PersonRequests:
    """Files requests for cases.  The caller holds `CasesFile.writing`."""

    def __init__(self, run: PartyRun, account: Address, index: PersonIndex, file: CasesFile) -> None:
        """Completes the notes of an interrupted call.  Raises as `Docket` and `CasesFile.read`."""
        self._run = run
        self._index = index
        self._file = file
        self._user = run.federation.setup.users[0].index
        run.federation.context.contracts.participants.node.await_settled()
        own = [each for each in run.federation.context.docket.filed() if each.by == account]
        self._dismissed = [each.number for each in own if each.state is RequestState.DISMISSED]
        self._asked = self._read(own)
        self._recover()

    @property
    def stages(self) -> Mapping[int, RequestStage]:
        """The stages of own requests, by number."""
        dismissed = dict.fromkeys(self._dismissed, RequestStage.DISMISSED)
        return {**dismissed, **{each.number: each.stage for each in self._asked}}

    def models(self) -> tuple[str, ...]:
        """The published models that were trained on this participant's rows."""
        everything = Forget.of_clients([self._user])
        return models_of(everything, self._run.federation.catalogue())

    def file(self, numbers: Sequence[int], method: str | None) -> tuple[int | None, tuple[PersonCase, ...]]:
        """Files one request for the rows of these cases that no request of this participant has yet.

        A case whose rows all have a request takes the newest one of these.  Returns the number of the new
        request, or None if every row has one, and the cases.

        Raises as `PartyRun.request`; UnlearningError if only all data or no model could forget them.
        """
        live = [each for each in self._asked if each.stage not in FAILED]
        by_row = {row: each for each in live for row in each.rows(self._user, self._index.size)}
        cases = self._file.read()
        wanted = list[PersonCase]()
        for each in (cases[number] for number in numbers):
            rows = self._index.trained.get(each.person, ())
            case = each.model_copy(update={"rows": rows})
            if not by_row.keys() >= set(rows):
                wanted.append(case)
            elif rows and each.is_collected(self.stages):
                newest = max((by_row[row] for row in rows), key=lambda each: each.number)
                self._note([case], Filing.of(newest.request.forget, newest.number - 1, newest.number))
        request = None
        if rows := tuple(sorted({row for case in wanted for row in case.rows} - by_row.keys())):
            self._require_some_left(rows, by_row)
            forget = Forget.of_samples((self._user, row) for row in rows)
            filing = Filing.of(forget, self._newest())
            self._note(wanted, filing)
            paradigm = self._run.usual_paradigm(forget)
            request = self._run.request((), forget, paradigm, method)
            self._note(wanted, filing.model_copy(update={"request": request}))
        cases = self._file.read()
        return request, tuple(cases[number] for number in numbers)

    def _note(self, cases: Sequence[PersonCase], filing: Filing) -> None:
        """Writes a filing into its cases."""
        update = {"filing": filing, "answered": None}
        self._file.write(self._file.read().having(each.model_copy(update=update) for each in cases))

    def _require_some_left(self, rows: Sequence[int], by_row: Mapping[int, _Asked]) -> None:
        if not self.models():
            raise UnlearningError(
                "no model of this participant is published, so none was trained on these rows: take them out "
                "of your file and join again."
            )
        if len(rows) + len(by_row) >= self._index.size:
            raise UnlearningError(
                "these are all rows that this participant trains on: ask that all of its data be forgotten, "
                "with `blockful participant request FOLDER --client`, and leave."
            )

    def _newest(self) -> int:
        filed = self._run.federation.context.docket.filed()
        return max((each.number for each in filed), default=0)

    def _read(self, own: Sequence[Filed]) -> tuple[_Asked, ...]:
        """The own requests, except dismissed ones, whose files may be gone."""
        docket = self._run.federation.context.docket
        statuses = (docket[each.number] for each in own if each.number not in self._dismissed)
        return tuple(_Asked(status.number, status.request, status.stage) for status in statuses)

    def _recover(self) -> None:
        """Finds requests whose filing was interrupted by their rows; a filing that was not reached is undone.

        A request that was dismissed since counts as not reached.
        """
        cases, taken = self._file.read(), dict[Filing, int | None]()
        for filing in dict.fromkeys(case.filing for case in cases.cases):
            if filing is not None and filing.request is None:
                numbers = (
                    each.number for each in self._asked if filing.is_of(each.number, each.request.forget)
                )
                taken[filing] = min(numbers, default=None)
        changed = [
            case.model_copy(
                update={"filing": None}
                if (number := taken[case.filing]) is None
                else {"filing": case.filing.model_copy(update={"request": number})}
            )
            for case in cases.cases
            if case.filing is not None and case.filing in taken
        ]
        if changed:
            self._file.write(cases.having(changed))
