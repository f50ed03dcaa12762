# SPDX-License-Identifier: Apache-2.0
"""The index of persons and their cases: identifiers, deadlines, locked files."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from blockful_py.errors import KeystoreError, RunError, SettingsError
from blockful_py.forget import Forget
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant import locked_document
from blockful_py.participant.cases import Cases, CasesFile, Filing, PersonCase, a_month_after, due_in
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.forgetting import noted
from blockful_py.participant.persons import PersonIndex, Persons
from blockful_py.record.request_stage import RequestStage

TODAY = date(2026, 11, 27)
NAMES = ["007", None, "José", "7", "007"]
PERSONS: tuple[Sequence[str | None], Sequence[str | None]] = (NAMES, ["José", None, "tested"])


class Hospital:
    """A participant's folder that joined with a file of samples."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder.mkdir()
        self.folder, self.keys = ParticipantFolder(folder), ReaderKeys.generate()
        self.samples = folder / "samples.safetensors"
        self.samples.write_bytes(b"samples")
        joined = (None, SimpleNamespace(data=str(self.samples)))
        monkeypatch.setattr(ParticipantFolder, "opened", lambda folder: joined)

    @property
    def persons(self) -> Persons:
        return Persons(self.folder, self.keys)

    @property
    def cases(self) -> CasesFile:
        return CasesFile(self.folder, self.keys)

    def make(self, handed_out: bool = True) -> list[str]:
        return self.persons.make("patient", PERSONS, self.samples, handed_out)


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hospital:
    return Hospital(tmp_path / "hospital", monkeypatch)


def case(**fields: object) -> PersonCase:
    document = {"number": 1, "person": "a" * 64, "received": TODAY, "due": TODAY, "rows": (0,), **fields}
    return PersonCase.model_validate(document)


def test_rows_are_found_by_the_identifier(hospital: Hospital) -> None:
    hospital.make()
    index, name = hospital.persons.read(), hospital.persons.name
    assert index.trained[name("007")] == (0, 4)
    assert index.trained[name("7")] == (3,)
    assert index.trained[name(" Jose\u0301 ")] == (2,), "another Unicode form, white space"
    assert (index.tested[name("Jos\u00e9")], index.size) == (1, 5)
    assert name("jos\u00e9") not in index.trained, "case counts"
    assert name("tested") not in index.trained


def test_the_index_is_described_with_rows_that_nobody_can_ask_for(hospital: Hospital) -> None:
    said = hospital.make()
    assert said[0] == "4 persons by column 'patient', with 6 rows; 3 have rows to train on"
    assert said[1].startswith("2 rows have no person in column 'patient'")
    assert said[2].startswith("persons with public rows and others: 1; ")
    assert len(hospital.make(handed_out=False)) == 2


def test_nothing_of_an_identifier_is_in_the_file(hospital: Hospital) -> None:
    hospital.make()
    data = hospital.folder.persons.read_bytes()
    assert stat.S_IMODE(hospital.folder.persons.stat().st_mode) == 0o600
    assert not any(text in data for text in (b"007", b"Jos", b"patient", b"trained"))
    opened = hospital.persons.read().model_dump_json()
    assert "Jos" not in opened and '007"' not in opened
    assert hospital.persons.name("007") != Persons(hospital.folder, ReaderKeys.generate()).name("007")


@pytest.mark.parametrize("text", ["", "  ", "NA", "\u00a0"])
def test_an_empty_identifier_is_refused(hospital: Hospital, text: str) -> None:
    with pytest.raises(SettingsError, match="an identifier is empty"):
        hospital.persons.name(text)


def test_a_column_without_persons_is_refused(hospital: Hospital) -> None:
    with pytest.raises(SettingsError, match="no row has a person in column 'patient'"):
        hospital.persons.make("patient", ([None], [None]), hospital.samples, True)


def test_without_an_index_the_error_says_how_to_make_one(hospital: Hospital) -> None:
    assert hospital.persons.column() is None
    with pytest.raises(RunError, match=r"does not know which rows are whose: repeat .* join .* --person"):
        hospital.persons.read()


def test_an_index_of_other_samples_is_refused(hospital: Hospital) -> None:
    hospital.make()
    hospital.samples.write_bytes(b"others")
    with pytest.raises(RunError, match=r"belongs to other samples than .*: repeat"):
        hospital.persons.read()
    hospital.samples.unlink()
    with pytest.raises(RunError, match="belongs to other samples"):
        hospital.persons.read()


def test_an_index_of_another_folder_is_refused(hospital: Hospital) -> None:
    hospital.make()
    hospital.keys = ReaderKeys.generate()
    with pytest.raises(KeystoreError, match="written with the keys of another folder"):
        hospital.persons.read()


def test_one_document_does_not_pass_for_another(hospital: Hospital) -> None:
    hospital.make()
    hospital.folder.persons.rename(hospital.folder.cases)
    with pytest.raises(KeystoreError, match=r"cases\.box is damaged"):
        hospital.cases.read()


@pytest.mark.parametrize("change", [slice(0, -1), slice(1, None), slice(0, 5)])
def test_a_damaged_index_is_refused(hospital: Hospital, change: slice) -> None:
    hospital.make()
    data = hospital.folder.persons.read_bytes()
    hospital.folder.persons.write_bytes(data[change])
    with pytest.raises(KeystoreError, match=r"persons\.box is damaged"):
        hospital.persons.read()


def test_a_file_of_another_version_or_that_others_read_is_refused(hospital: Hospital) -> None:
    file = locked_document.LockedDocument(hospital.folder.persons, Cases, hospital.keys, 1000)
    file.write(Cases())
    with pytest.raises(KeystoreError, match=r"another format .*: use the version that wrote it"):
        hospital.persons.read()
    hospital.folder.persons.chmod(0o644)
    with pytest.raises(KeystoreError, match="chmod 600"):
        hospital.persons.read()


def test_a_document_is_bounded_both_ways(hospital: Hospital) -> None:
    file = locked_document.LockedDocument(hospital.folder.cases, Cases, hospital.keys, 100)
    with pytest.raises(KeystoreError, match="at most 100 are read"):
        file.write(Cases(cases=(case(),)))
    hospital.folder.cases.write_bytes(bytes(1000))
    hospital.folder.cases.chmod(0o600)
    with pytest.raises(KeystoreError, match="more than 100 bytes"):
        file.read()


def test_one_process_writes_cases_at_a_time(hospital: Hospital) -> None:
    with hospital.cases.writing(), pytest.raises(RunError, match=r"process \d+ .* works on the cases"):
        hospital.cases.writing()


@pytest.fixture
def index(hospital: Hospital) -> PersonIndex:
    hospital.make()
    return hospital.persons.read()


def test_cases_have_a_month_or_the_days_named(hospital: Hospital, index: PersonIndex) -> None:
    name = hospital.persons.name
    jose, seven = noted(Cases(), index, [name("José"), name("7"), name("José")], TODAY, None)
    assert (jose.number, jose.rows, jose.tested, jose.handed_out) == (1, (2,), 1, True)
    assert (seven.number, seven.tested, seven.due) == (2, 0, date(2026, 12, 27))
    (later,) = noted(Cases(), index, [name("7")], TODAY, 45)
    assert later.due - TODAY == timedelta(45)


def test_a_person_has_one_case_until_it_has_other_rows(hospital: Hospital, index: PersonIndex) -> None:
    person = hospital.persons.name("007")
    (first,) = noted(Cases(), index, [person], TODAY, None)
    cases = Cases(cases=(first,))
    assert noted(cases, index, [person], date(2026, 12, 1), 1) == (first,)
    filed = first.model_copy(update={"filing": Filing.of(Forget.of_samples([(1, 0), (1, 4)]), 0, 1)})
    cases = cases.having([filed])
    assert noted(cases, index, [person], TODAY, None) == (filed,)
    more = index.model_copy(update={"trained": {person: (0, 1, 4)}})
    (second,) = noted(cases, more, [person], TODAY, None)
    assert (second.number, second.rows, second.filing) == (2, (0, 1, 4), None)


def test_unknown_persons_and_untrained_ones_are_named_by_place(
    hospital: Hospital, index: PersonIndex
) -> None:
    name = hospital.persons.name
    with pytest.raises(RunError, match=r"no row belongs to identifier 2 .*leading zeros count") as raised:
        noted(Cases(), index, [name("7"), name("08")], TODAY, None)
    assert "08" not in str(raised.value)
    with pytest.raises(RunError, match="no row belongs to identifier 3 "):
        noted(Cases(), index, [name("7"), name("7"), name("08")], TODAY, None)
    with pytest.raises(RunError, match="rows of the identifier: the 1 that it has are public, and cannot be"):
        noted(Cases(), index, [name("tested")], TODAY, None)
    private = index.model_copy(update={"handed_out": False})
    with pytest.raises(RunError, match="are test samples of this participant"):
        noted(Cases(), private, [name("tested")], TODAY, None)


FORGET = Forget.of_samples([(1, 0)])
FILED = Filing.of(FORGET, 0, 3)


@pytest.mark.parametrize(
    ("fields", "stage", "collected", "standing"),
    [
        ({}, None, True, "collected, to be filed"),
        ({"filing": Filing.of(FORGET, 0)}, None, False, "is being filed: repeat"),
        ({"filing": FILED}, RequestStage.FILED, False, "request 3 is filed"),
        ({"filing": FILED}, RequestStage.CARRIED_OUT, False, "request 3 is carried out, to be answered"),
        ({"filing": FILED}, RequestStage.LAPSED, True, "request 3 is lapsed, to be filed again"),
        ({"filing": FILED}, RequestStage.DISMISSED, True, "request 3 is dismissed, to be filed again"),
        ({"filing": FILED, "answered": TODAY}, RequestStage.CARRIED_OUT, False, "answered on 2026-11-27"),
    ],
)
def test_a_case_says_where_it_stands(
    fields: dict[str, object], stage: RequestStage | None, collected: bool, standing: str
) -> None:
    stages = {} if stage is None else {3: stage}
    assert case(**fields).standing(stages).startswith(standing)
    assert case(**fields).is_collected(stages) is collected


def test_near_deadlines_and_failed_requests_are_warned_of() -> None:
    def warning(days: int, **fields: object) -> str | None:
        stages = {3: RequestStage.LAPSED, 4: RequestStage.OPEN}
        return case(due=TODAY + timedelta(days), **fields).warning(TODAY, stages)

    assert warning(8) is None
    assert warning(7) == "case 1 is due in 7 days: collected, to be filed"
    assert warning(-1, filing=FILED.model_copy(update={"request": 4})) == (
        "case 1 was due 1 day ago: request 4 is open"
    )
    assert warning(20, filing=FILED) == "case 1 is due in 20 days: request 3 is lapsed, to be filed again"
    assert warning(-1, answered=TODAY) is None
    assert due_in(0) == "is due today"


@pytest.mark.parametrize(
    ("day", "due"),
    [
        (date(2026, 1, 31), date(2026, 2, 28)),
        (date(2028, 1, 30), date(2028, 2, 29)),
        (date(2026, 12, 31), date(2027, 1, 31)),
        (date(2026, 11, 5), date(2026, 12, 5)),
    ],
)
def test_a_month_ends_on_the_same_day_or_the_last_one(day: date, due: date) -> None:
    assert a_month_after(day) == due


def test_a_request_is_found_by_what_it_forgets() -> None:
    filing = Filing.of(FORGET, 2)
    assert filing.is_of(3, FORGET)
    assert not filing.is_of(2, FORGET), "filed before"
    assert not filing.is_of(3, Forget.of_samples([(1, 0), (1, 1)]))
    assert not filing.is_of(3, Forget.of_samples([(2, 0)]))


def test_cases_that_cannot_be_read_are_a_warning(hospital: Hospital) -> None:
    hospital.cases.write(Cases(cases=(case(),)))
    assert hospital.cases.warnings(TODAY, {}) == ["case 1 is due today: collected, to be filed"]
    hospital.folder.cases.write_bytes(bytes(40))
    (warning,) = hospital.cases.warnings(TODAY, {})
    assert "cases.box is damaged" in warning


def test_an_unknown_case_is_named() -> None:
    with pytest.raises(RunError, match="there is no case 2: see `blockful participant persons`"):
        Cases(cases=(case(),))[2]
