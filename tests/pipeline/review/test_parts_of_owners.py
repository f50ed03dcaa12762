# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from blockful_py.errors import RefusedError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.pipeline.review.admission import models_of, require_all_models
from blockful_py.pipeline.review.methods import parse_method, require_parts
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request import Request, Start
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


def test_a_client_or_its_samples_leave_all_models_trained_on_them() -> None:
    """Else the data stays in the owner's other models, which need not descend from the starts."""
    record = cast(
        "Catalogue", SimpleNamespace(models={"a": owned(1), "b": owned(2), "c": owned(1), "d": gone(1)})
    )
    for forget in (Forget.of_clients([1]), Forget.of_samples([(1, 3)])):
        assert models_of(forget, record) == ("a", "c")
        asked = request(Paradigm.SEQUENTIAL, "retrain", "a", "b")
        named = {"clients": forget.clients, "samples": tuple(f"{user}:{row}" for user, row in forget.samples)}
        asked = asked.model_copy(update={**named, "classes": ()})
        with pytest.raises(
            RefusedError, match="c was trained on this data too: name all models of its owner"
        ):
            require_all_models(asked, record)
        starts = (*asked.starts, Start(name="c", position="1:0"))
        require_all_models(asked.model_copy(update={"starts": starts}), record)
    require_all_models(request(Paradigm.SEQUENTIAL, "retrain", "a"), record)


def owned(user: int) -> SimpleNamespace:
    statement = SimpleNamespace(user=user)
    return SimpleNamespace(node=SimpleNamespace(statement=statement, is_withdrawn=False))


def gone(user: int) -> SimpleNamespace:
    placed = owned(user)
    placed.node.is_withdrawn = True
    return placed
