# SPDX-License-Identifier: Apache-2.0
"""Persons ask an owner to be forgotten: cases, one request for several, a crash in between, the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from blockful_py.errors import RunError
from blockful_py.forget import Forget
from blockful_py.participant.cases import CasesFile, a_month_after
from blockful_py.participant.persons import Persons
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.request_state import RequestStanding
from blockful_py.types import Paradigm
from tests.cli.commands import Outcome, blockful
from tests.member.processes import WORDS
from tests.participant.conftest import Machines, Participant

IDS = {"anna-0071": (0, 5), "berta-0072": (2,), "carla-0073": (3, 4), "doris-0074": (6,)}
TESTED = ["berta-0072", None, None]


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"sequential": "auto", "blocks": 100_000}}


class Owner:
    """The owner of model a, whose rows have persons, and its commands."""

    def __init__(self, participant: Participant, folder: Path) -> None:
        self.participant, self.folder = participant, folder
        folder.mkdir(exist_ok=True)

    def __call__(self, command: str, *words: str) -> Outcome:
        party = str(self.participant.folder.path)
        return blockful(
            self.folder, "participant", command, party, *words, environment={"BLOCKFUL_PASSPHRASE": WORDS}
        )

    def forget(self, *words: str, ids: tuple[str, ...] = ()) -> Outcome:
        (self.folder / "letter.txt").write_text("\n".join(["\ufeff", *ids]), encoding="utf-8")
        return self("forget-person", *words, *(("--id-file", "letter.txt") if ids else ()))

    def requests(self) -> list[int]:
        with self.participant.run() as party:
            return [each.number for each in party.federation.context.docket.filed()]

    def take_part(self, number: int) -> None:
        with self.participant.run() as party:
            party.take_part(number)


@pytest.fixture(scope="module")
def owner(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Owner:
    participant = machines.participants["a"]
    participant.disclose(1.0)
    run = RunDirectory.open(participant.folder.run)
    assert run.party is not None and run.party.data is not None
    with participant.run() as party:
        party.train_next()
        size = len(party.federation.setup.users[0].train)
    persons: list[str | None] = [None] * size
    for name, rows in IDS.items():
        for row in rows:
            persons[row] = name
    index = Persons(participant.folder, participant.keys)
    index.make("patient", (persons, TESTED), Path(run.party.data), True)
    return Owner(participant, tmp_path_factory.mktemp("owner"))


def test_an_unknown_person_is_refused_and_nothing_is_filed(owner: Owner) -> None:
    outcome = owner.forget(ids=("anna-0071", "ANNA-0071"))
    assert outcome.status == 1
    assert "no row belongs to identifier 2" in outcome.error
    assert "0071" not in outcome.err
    assert owner.requests() == []
    assert not owner.participant.folder.cases.exists()


@pytest.mark.parametrize(
    "words", [(), ("--collected", "--id", "7"), ("--collect", "--collected"), ("--collect",)]
)
def test_persons_or_collected_cases_are_named(owner: Owner, words: tuple[str, ...]) -> None:
    assert "give --collected: one of the two" in owner("forget-person", *words).error


def test_a_deadline_for_cases_that_are_there_is_refused(owner: Owner) -> None:
    assert "--days is for new cases" in owner("forget-person", "--collected", "--days", "45").error


@pytest.mark.parametrize(("data", "why"), [(b"\n \n", "has no identifier"), (b"\xff", "save them as UTF-8")])
def test_a_file_of_identifiers_that_is_none_is_refused(owner: Owner, data: bytes, why: str) -> None:
    (owner.folder / "bad.txt").write_bytes(data)
    assert why in owner("forget-person", "--id-file", "bad.txt").error
    (owner.folder / "bad.txt").write_bytes(b"1\n" * 600_000)
    assert "more than 1,048,576 bytes" in owner("forget-person", "--id-file", "bad.txt").error


def test_cases_are_collected_with_their_deadlines(owner: Owner) -> None:
    first = owner.forget("--collect", ids=(" anna-0071 ", "berta-0072"))
    today = date.today()
    assert f"case 1, due on {a_month_after(today)}: 2 rows; collected, to be filed" in first.out
    assert "and 1 row of the person made public: others have copies" in first.out
    owner.forget("--collect", "--days", "5", ids=("carla-0073",))
    again = owner.forget("--collect", "--json", ids=("carla-0073", "anna-0071")).document
    assert [each["case"] for each in again["cases"]] == [3, 1]
    listed = owner("persons", "--json").document["cases"]
    assert [each["rows"] for each in listed] == [2, 1, 2]
    assert listed[2]["due"] == str(today + timedelta(5))
    assert owner.requests() == []
    warning = "warning: case 3 is due in 5 days: collected, to be filed"
    assert warning in owner("status").out


def test_a_crash_before_the_filing_files_nothing(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> int:
        raise RunError("killed")

    monkeypatch.setattr(PartyRun, "request", crash)
    assert owner.forget("--collected").status == 1
    monkeypatch.undo()
    assert owner.requests() == []
    assert "is being filed: repeat the command" in owner("persons").out


def test_a_crash_after_the_filing_doubles_nothing(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = PartyRun.request

    def crash(run: PartyRun, *arguments: Any) -> int:
        honest(run, *arguments)
        raise RunError("killed")

    monkeypatch.setattr(PartyRun, "request", crash)
    assert owner.forget("--collected").status == 1
    monkeypatch.undo()
    outcome = owner.forget("--collected", "--json")
    assert outcome.document["request"] is None, "no case is left"
    assert owner.requests() == [1]
    listed = owner("persons", "--json").document["cases"]
    assert {each["state"] for each in listed} == {"request 1 is open"}
    with owner.participant.run() as party:
        assert party.filed(1).forget == Forget.of_samples((1, row) for row in (0, 2, 3, 4, 5))


def test_no_answer_is_written_before_the_request_is_carried_out(owner: Owner) -> None:
    assert "request 1 is open, and waits for a" in owner("answer", "1", "--output", "answers").error
    assert not (owner.folder / "answers").exists()


def test_persons_get_an_answer_without_identifiers_and_rows(owner: Owner) -> None:
    owner.take_part(1)
    assert owner("answer", "2", "--output", "answers").status == 0
    page = (owner.folder / "answers" / "answer-2.html").read_text(encoding="utf-8")
    answer = json.loads((owner.folder / "answers" / "answer-2.json").read_text(encoding="utf-8"))
    (model,) = answer["models"]
    assert (model["name"], model["outcome"], model["version"]) == ("a", "replaced", 1)
    assert (
        "recomputed randomly drawn parts" in model["checked"]
        and " intervals of the train" in model["checked"]
    )
    assert answer["kind"].startswith("Exact given the graph, spot-checked: ") and answer["kind"] in page
    assert (answer["case"]["rows"], answer["case"]["together"], answer["case"]["tested"]) == (1, 5, 1)
    for text in (page, json.dumps(answer)):
        assert "had made 1 record more of yours public, to measure" in text
        assert not re.search(r"berta|-0072|(?<!\d)1:\d", text), "its identifier, or a row of user 1"
    kept = owner.participant.folder.run / "certificates" / answer["file"]
    assert owner.folder.joinpath(kept).exists()
    assert answer["certificate"] in page


def test_answers_share_a_certificate_and_end_warnings(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "case 3 is due in 5 days: request 1 is carried out, to be answered" in owner("status").out

    def issued(*_: object) -> None:
        raise AssertionError("the certificate was issued again")

    monkeypatch.setattr(PartyRun, "certificate", issued)
    assert owner("answer", "3", "--output", "answers").status == 0
    assert "warning" not in owner("status").out
    states = [each["state"] for each in owner("persons", "--json").document["cases"]]
    today = f"answered on {date.today()}"
    assert states == ["request 1 is carried out, to be answered", today, today]


def test_who_was_forgotten_is_not_asked_for_again(owner: Owner) -> None:
    outcome = owner.forget(ids=("carla-0073", "anna-0071"))
    assert outcome.status == 0
    assert "request 1 is carried out" in outcome.out and "nothing is left to be filed" in outcome.out
    assert "rows; in request 1" in owner.forget("--collect", ids=("anna-0071",)).out
    assert owner.requests() == [1]


def test_a_request_by_row_counts_and_gets_a_case(owner: Owner) -> None:
    with owner.participant.run() as party:
        party.request((), Forget.of_samples([(1, 6)]), Paradigm.SEQUENTIAL, None)
    outcome = owner.forget(ids=("doris-0074",))
    assert "request 2 is open" in outcome.out and "nothing is left to be filed" in outcome.out
    owner.take_part(2)
    assert owner("answer", "4", "--output", "answers").status == 0


def test_rows_of_earlier_requests_are_left_out(owner: Owner) -> None:
    """Row 7 came into the index since, as after joining again with more identifiers."""
    folder, keys = owner.participant.folder, owner.participant.keys
    index = Persons(folder, keys)
    held = index.read()
    more = {**held.trained, index.name("anna-0071"): (0, 5, 7)}
    index._file.write(held.model_copy(update={"trained": more}))
    outcome = owner.forget(ids=("anna-0071",))
    assert "case 5" in outcome.out and "it names 1 row; models trained on them: a" in outcome.out
    with owner.participant.run() as party:
        assert party.filed(3).forget == Forget.of_samples([(1, 7)])
    case = CasesFile(folder, keys).read()[5]
    assert (case.rows, case.request) == ((0, 5, 7), 3)


def test_a_lapsed_request_is_warned_of_and_filed_again(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    honest: Any = RequestStanding.stage

    def lapsed(status: RequestStanding) -> Any:
        return RequestStage.LAPSED if status.number == 3 else honest.func(status)

    monkeypatch.setattr(RequestStanding, "stage", property(lapsed))
    assert "request 3 is lapsed, to be filed again" in owner("status").out
    outcome = owner.forget("--collected", "--json").document
    assert (outcome["request"], [each["case"] for each in outcome["cases"]]) == (4, [5])
    with owner.participant.run() as party:
        assert party.filed(4).forget == party.filed(3).forget


def test_all_rows_are_a_request_of_the_client(owner: Owner) -> None:
    folder, keys = owner.participant.folder, owner.participant.keys
    index = Persons(folder, keys)
    held = index.read()
    everything = {index.name("anna-0071"): tuple(range(held.size))}
    index._file.write(held.model_copy(update={"trained": everything}))
    outcome = owner.forget(ids=("anna-0071",))
    assert "`blockful participant request FOLDER --client`" in outcome.error
    assert owner.requests() == [1, 2, 3, 4]
