# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from blockful_py.errors import CycleError, GraphError, UnknownModelError
from blockful_py.graph.inheritance import Depth, InheritanceGraph

FAMILY = {"a": [], "b": [], "c": ["a"], "d": ["c", "b"], "e": ["d", "a"], "f": ["b"]}


@pytest.fixture
def family() -> InheritanceGraph:
    return InheritanceGraph.from_references(FAMILY)


def test_references_and_heirs_mirror_each_other(family: InheritanceGraph) -> None:
    assert family.references("e") == ("d", "a")
    assert family.heirs("a") == ("c", "e")
    assert "a" in family
    assert "z" not in family


def test_descendants_are_all_heirs_of_heirs_without_the_starts(family: InheritanceGraph) -> None:
    assert family.descendants(["a"]) == ("c", "d", "e")
    assert family.descendants(["a", "c"]) == ("d", "e")
    assert family.descendants(["e"]) == ()
    assert family.descendants([]) == ()


def test_ancestors_are_all_references_of_references(family: InheritanceGraph) -> None:
    assert family.ancestors(["d"]) == ("a", "b", "c")
    assert family.ancestors(["a"]) == ()


def test_depth_counts_the_shortest_and_the_longest_path_and_starts_stay_at_zero(
    family: InheritanceGraph,
) -> None:
    assert family.depth(["a"]) == {"a": Depth(0, 0), "c": Depth(1, 1), "d": Depth(2, 2), "e": Depth(1, 3)}
    assert family.depth(["a", "d"])["d"] == Depth(0, 0)


def test_waves_keep_every_model_behind_its_references(family: InheritanceGraph) -> None:
    assert family.waves() == (("a", "b"), ("c", "f"), ("d",), ("e",))
    assert family.waves(["d", "e", "f"]) == (("d", "f"), ("e",))


def test_the_order_given_stays_where_it_is_topological(family: InheritanceGraph) -> None:
    assert family.topological_order() == tuple(FAMILY)


def test_any_order_of_names_is_sorted_topologically() -> None:
    graph = InheritanceGraph.from_references({"e": ["d"], "d": ["c"], "c": []})
    assert graph.topological_order() == ("c", "d", "e")
    assert graph.descendants(["c"]) == ("d", "e")


def test_a_cycle_is_named_in_order() -> None:
    with pytest.raises(CycleError) as caught:
        InheritanceGraph.from_references({"a": [], "b": ["a", "d"], "c": ["b"], "d": ["c"], "e": ["d"]})
    assert set(caught.value.models) == {"b", "c", "d"}
    references = {"b": "d", "c": "b", "d": "c"}
    cycle = caught.value.models
    assert all(references[x] == y for x, y in zip(cycle, cycle[1:] + cycle[:1], strict=True))


def test_a_model_that_references_itself_is_a_cycle() -> None:
    with pytest.raises(CycleError) as caught:
        InheritanceGraph.from_references({"a": ["a"]})
    assert caught.value.models == ("a",)


def test_an_unknown_reference_or_start_is_named(family: InheritanceGraph) -> None:
    with pytest.raises(UnknownModelError, match="'z'"):
        InheritanceGraph.from_references({"a": ["z"]})
    for query in (family.descendants, family.ancestors, family.depth, family.waves):
        with pytest.raises(UnknownModelError, match="'z'"):
            query(["z"])


def test_a_reference_listed_twice_is_refused() -> None:
    with pytest.raises(GraphError, match="'b' references 'a' twice"):
        InheritanceGraph.from_references({"a": [], "b": ["a", "a"]})


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(GraphError, match="two models are named 'a'"):
        InheritanceGraph(["a", "a"], np.array([0, 0, 0]), np.array([], dtype=np.int64))


@pytest.mark.parametrize(("indptr", "indices"), [([0, 1], [0]), ([0, 1, 0], []), ([0, 0, 1], [5])])
def test_arrays_that_form_no_graph_are_refused(indptr: list[int], indices: list[int]) -> None:
    with pytest.raises(GraphError):
        InheritanceGraph(["a", "b"], np.array(indptr), np.array(indices, dtype=np.int64))


def test_a_graph_cannot_be_changed(family: InheritanceGraph) -> None:
    with pytest.raises(ValueError, match="read-only"):
        family.indices[0] = 1


def test_a_chain_of_a_hundred_thousand_models_needs_no_recursion() -> None:
    size = 100_000
    backwards = InheritanceGraph(
        [f"m{i}" for i in range(size)],
        np.append(np.arange(size), size - 1),
        np.arange(1, size, dtype=np.int64),
    )
    last = f"m{size - 1}"
    assert backwards.topological_order()[0] == last
    assert backwards.depth([last])["m0"] == Depth(size - 1, size - 1)


def test_a_graph_without_models_is_empty() -> None:
    graph = InheritanceGraph.from_references({})
    assert len(graph) == 0
    assert graph.waves() == ()
