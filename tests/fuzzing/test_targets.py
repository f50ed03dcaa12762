# SPDX-License-Identifier: Apache-2.0
"""A short version of `make fuzz`: all bytes are read, or clearly refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing.targets import TARGETS, Target, survives

NESTED = (b"[" * 100_000, b"a=" + b"[" * 100_000, b'{"a":' * 100_000, b"\xff" * 1000, b"9" * 10_000)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=60)
@given(data=st.data())
def test_any_bytes_are_read_or_refused(name: str, data: st.DataObject) -> None:
    """Only errors of the package's tree may end a reader; `survives` raises all others."""
    target = TARGETS[name]
    seed = data.draw(st.sampled_from((b"", *target.seeds)))
    at = data.draw(st.integers(0, len(seed)))
    gone = data.draw(st.integers(0, 8))
    survives(target, seed[:at] + data.draw(st.binary(max_size=12)) + seed[at + gone :])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("data", NESTED, ids=["brackets", "an array", "objects", "bytes", "a number"])
def test_what_exhausts_careless_readers_is_refused(name: str, data: bytes) -> None:
    assert not survives(TARGETS[name], data)


@pytest.mark.parametrize(
    "name",
    [
        "block",
        "car",
        "gateway",
        "weights",
        "node",
        "method",
        "sealed",
        "lent-keys",
        "charter",
        "settings",
        "account",
    ],
)
def test_what_they_start_from_is_read(name: str) -> None:
    assert survives(TARGETS[name], TARGETS[name].seeds[0])


def test_another_error_is_found() -> None:
    with pytest.raises(IndexError):
        survives(Target(lambda data: data[5], ()), b"")
