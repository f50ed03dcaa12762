# SPDX-License-Identifier: Apache-2.0
"""An owner's commitment: one spelling, bounded, and without contradictions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from blockful_py.errors import FormatError
from blockful_py.record.fields import spelt
from blockful_py.record.request import Request, Start
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.record.training_trace import (
    FORMAT,
    MAX_INTERVALS,
    MAX_TRACE_BYTES,
    Trace,
    parse_trace,
    schedule_seed,
)

TRACE = Trace(format=FORMAT, samples="0" * 64, kept=(0, 2, 5), challenged=2, states=("1" * 128,) * 4)
REQUEST = Request(
    starts=(Start(name="a", position="1:0"),),
    classes=(3,),
    paradigm="sequential",
    method="retrain",
    created=1,
)


def changed(**changes: Any) -> bytes:
    document = {**json.loads(spelt(TRACE)), **changes}
    return json.dumps(document, sort_keys=True, indent=1).encode() + b"\n"


def test_a_trace_has_one_spelling() -> None:
    assert parse_trace(spelt(TRACE)) == TRACE
    assert parse_trace(changed()) == TRACE
    assert TRACE.intervals == 3
    with pytest.raises(FormatError, match="not spelt"):
        parse_trace(spelt(TRACE) + b" ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        changed(format="blockful-trace/2"),
        changed(more=1),
        changed(samples="0" * 63),
        changed(kept=[]),
        changed(without=["a/b"]),
        changed(kept=[2, 0]),
        changed(kept=[0, 0]),
        changed(kept=[-1]),
        changed(challenged=0),
        changed(challenged=4),
        changed(states=["1" * 128]),
        changed(states=["1" * 127] * 4),
        changed(states=["1" * 128] * (MAX_INTERVALS + 2)),
        b" " * (MAX_TRACE_BYTES + 1),
    ],
)
def test_bytes_that_are_no_trace_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_trace(data)


def test_the_schedule_follows_from_samples_and_request() -> None:
    seed = schedule_seed("0" * 64, REQUEST)
    assert seed == schedule_seed("0" * 64, REQUEST)
    assert seed != schedule_seed("1" * 64, REQUEST)
    assert seed != schedule_seed("0" * 64, REQUEST.model_copy(update={"created": 2}))


def test_a_spot_check_states_the_least_chance_and_rounds_it_down() -> None:
    said = SpotCheck(disclosure="b", intervals=3, challenged=2)
    assert said.chance == pytest.approx(2 / 3)
    assert "2 of 3 intervals" in str(said)
    assert "66 % or more; not all that it starts from was checked" in str(said)
    whole = said.model_copy(update={"from_initial": True})
    assert "so were all trainings for the request that it starts from" in str(whole)
    assert "from_initial" in whole.model_dump() and "from_initial" not in said.model_dump()
    with pytest.raises(ValidationError, match="more intervals are challenged than there are"):
        SpotCheck(disclosure="b", intervals=3, challenged=4)
