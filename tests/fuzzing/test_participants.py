# SPDX-License-Identifier: Apache-2.0
"""Dishonest participants take nobody's model and delay no request; planted faults are found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from blockful_py.pipeline.review import admission
from blockful_py.pipeline.review.admission import AdmissionVerdict, RequestAdmission, Ruling
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request_state import RequestStanding
from tests.fuzzing.filings_oracle import FilingViolationError
from tests.fuzzing.participants import run_case

SEEDS = range(1, 4)


def test_dishonest_participants_take_nobodys_model_and_hold_no_request_up() -> None:
    assert sum(run_case(seed) for seed in SEEDS) > 0


def _since_the_admission(status: RequestStanding, name: str) -> int:
    return status.filed.decided


def _to_this_day(catalogue: Catalogue, height: int) -> Catalogue:
    return catalogue


def _everything(look: RequestAdmission, number: int) -> AdmissionVerdict:
    """Admits every readable request."""
    try:
        look._docket.status(look._docket.entry(number))
    except Exception:
        return AdmissionVerdict(Ruling.DISMISS)
    return AdmissionVerdict(Ruling.ADMIT)


def _references(status: RequestStanding, name: str) -> int:
    """A part is due after its references were replaced, regardless of its owner's other work."""
    references = [status.record[each] for each in status.record.graph.references(name)]
    return max([status.filed.decided, *(each.since for each in references)])


def _own_answers(status: RequestStanding, name: str) -> int:
    """The real rule without the time of references that other requests have withdrawn."""
    answers = [status.record[each].answer_to(status.request) for each in status.affected]
    own = status._last_answers.get(status.record[name].node.statement.owner, 0)
    return max([status.filed.decided, own, *(each.block_number for each in answers if each is not None)])


def _while_another_is_open(ruling: Ruling) -> Callable[..., AdmissionVerdict]:
    verdict = RequestAdmission.verdict

    def ruled(look: RequestAdmission, number: int) -> AdmissionVerdict:
        if any(each.stage.is_open for each in look._docket.admitted()):
            return AdmissionVerdict(ruling)
        return verdict(look, number)

    return ruled


def _from_the_admission(status: RequestStanding) -> frozenset[str]:
    return frozenset(status.missing) if status.stage.is_open else frozenset()


def _nothing(*args: object, **options: object) -> None:
    pass


FAULTS: dict[str, tuple[object, str, object]] = {
    "an owner's time counts from the admission": (RequestStanding, "due_since", _since_the_admission),
    "a request reaches what was published later": (Catalogue, "up_to", _to_this_day),
    "an owner's other parts give it no more time": (RequestStanding, "due_since", _references),
    "another request's withdrawals give no more time": (RequestStanding, "due_since", _own_answers),
    "everything that can be read is admitted": (RequestAdmission, "verdict", _everything),
    "requests wait while any is open": (RequestAdmission, "verdict", _while_another_is_open(Ruling.WAIT)),
    "requests fall while any is open": (RequestAdmission, "verdict", _while_another_is_open(Ruling.DISMISS)),
    "a request that nobody answers holds publications up": (
        RequestStanding,
        "awaited",
        property(_from_the_admission),
    ),
    "a request never lapses": (RequestStanding, "_is_over", False),
    "nobody checks the starts": (admission, "require_starts", _nothing),
    "a client's data may stay in its other models": (admission, "require_all_models", _nothing),
    "nobody checks whether a method is reviewed": (admission, "require_review", _nothing),
    "nobody checks how long a request is open": (admission, "most_blocks", lambda *request: 1 << 32),
}
FINDS = {
    "an owner's other parts give it no more time": 3,
    "another request's withdrawals give no more time": 12,
    "a request that nobody answers holds publications up": 4,
    "a request never lapses": 3,
    "nobody checks whether a method is reviewed": 6,
}
"""The first seed that finds a fault, where that is not soon; it is tried before the others."""
LONG = {*FINDS, "a client's data may stay in its other models", "nobody checks the starts"}
"""Faults that so many moves find that the test is slow."""


@pytest.mark.parametrize(
    "fault",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in FAULTS],
)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises(FilingViolationError):
        for seed in (FINDS.get(fault, 1), *range(1, 30)):
            run_case(seed)
