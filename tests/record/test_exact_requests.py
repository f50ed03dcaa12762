# SPDX-License-Identifier: Apache-2.0
"""Requests by an exact method: members replace all models but those of owners of samples to forget."""

from __future__ import annotations

import pytest

from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStage
from tests.record.test_request_state import (
    ADMITTED,
    BLOCKS,
    OWNERS,
    PARALLEL,
    SEQUENTIAL,
    A,
    B,
    C,
    catalogue,
    changed,
    part,
    status,
)


def exact(request: Request, **data: tuple[object, ...]) -> Request:
    return request.model_copy(update={"method": "subtract {}", "classes": (), **data})


BY_CLASS, BY_CLIENT, BY_SAMPLE = (
    {request.paradigm: exact(request, **data) for request in (PARALLEL, SEQUENTIAL)}
    for data in ({"classes": (3,)}, {"clients": (1,)}, {"samples": ("1:0",)})
)


@pytest.mark.parametrize("asked", [BY_CLASS, BY_CLIENT])
def test_no_owner_has_a_part_of_a_request_for_a_class_or_a_client(asked: dict[str, Request]) -> None:
    for request in asked.values():
        at = status(request=request)
        assert (at.with_parts, at.unanswered(), at.stage) == (frozenset(), (), RequestStage.OPEN)
        assert all(at.due(owner) == at.owed(owner) == () for owner in OWNERS.values())
        assert at.awaited == {"a", "b", "c"}
    assert status(request=asked["parallel"]).ready == ("a", "b", "c")
    assert status(request=asked["sequential"]).ready == ("a",)
    after = status(catalogue(a=changed(A, asked["sequential"])), asked["sequential"])
    assert (after.ready, after.stage) == (("b",), RequestStage.PARTLY)


def test_the_owners_of_samples_have_the_parts_of_starts_alone() -> None:
    asked = BY_SAMPLE["parallel"]
    at = status(request=asked)
    assert (at.due(OWNERS["a"]), at.ready, at.awaited) == (("a",), (), frozenset())
    assert at.owed(OWNERS["b"]) == ()
    there = status(request=asked, handed_in=[part("a", "a")])
    assert (there.ready, there.awaited) == (("a", "b", "c"), {"a", "b", "c"})
    assert status(request=asked, handed_in=[part("a", "b")]).ready == ()
    one = status(request=BY_SAMPLE["sequential"])
    assert (one.due(OWNERS["a"]), one.ready) == (("a",), ())


def test_a_request_is_not_over_before_each_model_is_replaced() -> None:
    """None is left alone, as by passing."""
    for request in (*BY_CLASS.values(), *BY_SAMPLE.values()):
        first = {"a": changed(A, request)}
        assert status(catalogue(**first), request).missing == ("b", "c")
        assert status(catalogue(**first, b=changed(B, request)), request).missing == ("c",)
        done = catalogue(**first, b=changed(B, request), c=changed(C, request))
        assert status(done, request).stage is RequestStage.CARRIED_OUT


def test_nothing_is_withdrawn_and_every_request_ends() -> None:
    end = ADMITTED + BLOCKS
    for request in (*BY_CLASS.values(), *BY_CLIENT.values()):
        assert status(request=request, now=end + BLOCKS).stage is RequestStage.OPEN
        assert status(request=request, now=end + BLOCKS + 1).stage is RequestStage.LAPSED
    for request in BY_SAMPLE.values():
        assert status(request=request, now=end).stage is RequestStage.OPEN
        late = status(request=request, now=end + 1)
        assert (late.stage, late.unanswered(), late.emptied) == (RequestStage.LAPSED, (), frozenset())
