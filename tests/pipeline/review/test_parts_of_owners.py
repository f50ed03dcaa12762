# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.errors import UnlearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.pipeline.review.methods import parse_method, require_parts
from blockful_py.record.model_node import Request, Start
from blockful_py.types import Paradigm

GRAPH = InheritanceGraph.from_references({"a": (), "b": ("a",), "c": ("b",), "d": ()})


def request(paradigm: Paradigm, method: str, *starts: str) -> Request:
    named = tuple(Start(name=name, position="1:0") for name in starts)
    return Request(starts=named, classes=(3,), paradigm=paradigm, method=method, created=1)


def check(asked: Request) -> None:
    require_parts(asked, parse_method(asked.method), GRAPH)


@pytest.mark.parametrize(
    ("method", "paradigm"), [("gradient_ascent", Paradigm.PARALLEL), ("retrain", Paradigm.SEQUENTIAL)]
)
def test_owners_carry_out_what_needs_their_own_data_alone(method: str, paradigm: Paradigm) -> None:
    check(request(paradigm, method, "a", "d"))


@pytest.mark.parametrize("paradigm", list(Paradigm))
def test_by_waves_owners_of_ancestors_hand_in_what_the_parts_below_need(paradigm: Paradigm) -> None:
    check(request(paradigm, "retrain_ahead", "a", "c"))


def test_starts_that_inherit_from_each_other_are_gone_through_in_order() -> None:
    with pytest.raises(UnlearningError, match="c inherits from another start"):
        check(request(Paradigm.PARALLEL, "gradient_ascent", "a", "c"))
    check(request(Paradigm.SEQUENTIAL, "retrain", "a", "c"))


def test_owners_keep_their_references() -> None:
    for method in ("retrain", "retrain_ahead"):
        asked = request(Paradigm.SEQUENTIAL, method + ' {"references":"chosen again"}', "a")
        with pytest.raises(UnlearningError, match="references are not chosen again: ask with"):
            check(asked)


@pytest.mark.parametrize("method", ["clean_increments", "fiun", "ppnr"])
def test_methods_that_look_at_the_data_of_several_are_for_laboratories(method: str) -> None:
    with pytest.raises(UnlearningError, match="needs more than each owner's own data"):
        check(request(Paradigm.PARALLEL, method, "a"))
