# SPDX-License-Identifier: Apache-2.0
"""Plans against an empty record: names, parents that are not there, cycles, two cards for one file."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blockful_py.adopt.found import Found, FoundModel, edges_of
from blockful_py.adopt.plan import AdoptionPlan, name_of, plan_adoption
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.kinds import EdgeKind
from blockful_py.names import name_fault
from blockful_py.record.adopted import AdoptedFile
from blockful_py.record.catalogue import Catalogue

EMPTY = Catalogue({}, InheritanceGraph.from_references({}))


def _model(source: str, *parents: str, cid: str = "") -> FoundModel:
    files = (AdoptedFile(path="m.safetensors", size=1, cid=f"b{cid * 58}"[:59]),) if cid else ()
    edges = edges_of((parent, EdgeKind.FINE_TUNE, None) for parent in parents)
    return FoundModel(source, edges, files=files)


def _plan(*models: FoundModel) -> AdoptionPlan:
    return plan_adoption(Found(models), EMPTY)


def _parents(plan: AdoptionPlan) -> dict[str, tuple[str, ...]]:
    return {each.name: each.parents for each in plan.models}


def test_publishes_parents_first_whatever_the_order() -> None:
    plan = _plan(_model("c", "b"), _model("b", "a"), _model("a"))
    assert _parents(plan) == {"a": (), "b": ("a",), "c": ("b",)}
    assert [each.name for each in plan.models] == ["a", "b", "c"]


def test_a_parent_that_is_not_there_is_one_model_known_by_name() -> None:
    plan = _plan(_model("x", "far/away"), _model("y", "far/away"))
    assert _parents(plan) == {"far--away": (), "x": ("far--away",), "y": ("far--away",)}
    assert plan.absent == ("far--away",)


def test_finds_a_parent_by_its_last_part_if_only_one_has_it() -> None:
    assert _parents(_plan(_model("base"), _model("x", "lab/base")))["x"] == ("base",)
    assert _parents(_plan(_model("lab/base"), _model("x", "base")))["x"] == ("lab--base",)


def test_takes_no_model_of_another_account() -> None:
    plan = _plan(_model("ann/base"), _model("x", "lab/base"))
    assert plan.absent == ("lab--base",)


def test_an_ambiguous_parent_is_taken_for_none() -> None:
    plan = _plan(_model("ann/base"), _model("bob/base"), _model("x", "base"))
    assert plan.absent == ("base",)
    assert "may be any of ann/base, bob/base" in plan.notes[0]


def test_refuses_cycles_and_keeps_the_rest() -> None:
    plan = _plan(_model("a", "b"), _model("b", "a"), _model("c", "a"), _model("d"), _model("b2", "d"))
    assert sorted(plan.refused) == ["a", "b"]
    assert "cycle (a of b of a" in plan.refused["a"]
    assert _parents(plan) == {"a": (), "c": ("a",), "d": (), "b2": ("d",)}
    assert plan.absent == ("a",), "an heir of a refused model has a parent known by name"


def test_refuses_a_model_of_itself() -> None:
    assert "names itself" in _plan(_model("a", "a")).refused["a"]


def test_refuses_two_cards_for_one_file() -> None:
    plan = _plan(_model("a", cid="a"), _model("copy", cid="a"), _model("heir", "a", cid="a"))
    assert [*plan.refused] == ["copy"]
    assert "it has the files of a" in plan.refused["copy"]


def test_two_sources_never_share_a_name() -> None:
    plan = _plan(_model("a/b"), _model("a--b"))
    assert sorted(each.name for each in plan.models) == ["a--b", "a--b~2"]


@given(st.text(min_size=1, max_size=300))
@example(" \\")
@example("\n.a")
def test_every_source_has_a_valid_name(source: str) -> None:
    assert name_fault(name_of(source)) is None


def test_a_long_chain_needs_no_recursion() -> None:
    chain = [_model("0"), *(_model(str(i), str(i - 1)) for i in range(1, 20_000))]
    assert len(_plan(*reversed(chain)).models) == 20_000


@pytest.mark.parametrize("seed", range(3))
def test_a_wheel_of_cycles_is_refused_in_one_pass(seed: int) -> None:
    size = 2000 + seed
    plan = _plan(*(_model(str(i), str((i + 1) % size)) for i in range(size)), _model("free"))
    assert len(plan.refused) == size
    assert [each.name for each in plan.models] == ["free"]
