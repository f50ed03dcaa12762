# SPDX-License-Identifier: Apache-2.0
"""Dishonest participants take nobody's model and hold no request up; faults that are planted are found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from blockful_py.pipeline.review.admission import AdmissionVerdict, RequestAdmission, Ruling
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request_state import RequestStanding
from tests.fuzzing.filings_oracle import FilingViolationError
from tests.fuzzing.participants import run_case

SEEDS = range(1, 4)


def test_dishonest_participants_take_nobodys_model_and_hold_no_request_up() -> None:
    assert sum(run_case(seed) for seed in SEEDS) > 0


def _since_the_admission(standing: RequestStanding, name: str) -> int:
    return standing.filed.decided


def _to_this_day(catalogue: Catalogue, height: int) -> Catalogue:
    return catalogue


def _everything(admission: RequestAdmission, number: int) -> AdmissionVerdict:
    """Whatever can be read."""
    try:
        admission._docket.standing(admission._docket.entry(number))
    except Exception:
        return AdmissionVerdict(Ruling.DISMISS)
    return AdmissionVerdict(Ruling.ADMIT)


def _whatever_else_it_does(standing: RequestStanding, name: str) -> int:
    references = standing.record.graph.references(name)
    answers = [standing.record[each].answer_to(standing.request) for each in references]
    return max([standing.filed.decided, *(each.block_number for each in answers if each)])


FAULTS: dict[str, tuple[type, str, Callable[..., object]]] = {
    "an owner's time counts from the admission": (RequestStanding, "due_since", _since_the_admission),
    "a request reaches what was published later": (Catalogue, "up_to", _to_this_day),
    "an owner's other parts give it no more time": (RequestStanding, "due_since", _whatever_else_it_does),
    "everything that can be read is admitted": (RequestAdmission, "verdict", _everything),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    with pytest.raises(FilingViolationError):
        for seed in range(1, 40):
            run_case(seed)
