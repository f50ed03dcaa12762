# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import GraphError, UnknownModelError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights


def paths(graph: InheritanceGraph, start: str, end: str, cut: set[str]) -> Iterator[tuple[str, ...]]:
    """Every path from start to end, without start, that runs through no model of `cut`."""
    for heir in graph.heirs(start):
        if heir == end:
            yield (heir,)
        elif heir not in cut:
            for rest in paths(graph, heir, end, cut):
                yield (heir, *rest)


def enumerate_path_weights(graph: InheritanceGraph, starts: Sequence[str], name: str) -> list[float]:
    """The slow twin: eq. 8 as it is written, path by path."""
    if name in starts:
        return [float(start == name) for start in starts]
    return [
        math.fsum(
            1 / math.prod(len(graph.references(model)) for model in path)
            for path in paths(graph, start, name, set(starts))
        )
        for start in starts
    ]


@st.composite
def graphs_with_starts(draw: st.DrawFn) -> tuple[InheritanceGraph, list[str]]:
    size = draw(st.integers(1, 10))
    names = [f"m{i}" for i in range(size)]
    references = {
        name: draw(st.lists(st.sampled_from(names[:i]), max_size=4, unique=True)) if i else []
        for i, name in enumerate(names)
    }
    shuffled = draw(st.permutations(names))
    graph = InheritanceGraph.from_references({name: references[name] for name in shuffled})
    return graph, draw(st.lists(st.sampled_from(names), min_size=1, unique=True))


@given(graphs_with_starts())
def test_the_sparse_pass_equals_enumeration(case: tuple[InheritanceGraph, list[str]]) -> None:
    graph, starts = case
    found = path_weights(graph, starts)
    assert found.names[: len(starts)] == found.starts == tuple(starts)
    assert found.descendants == graph.descendants(starts)
    for name in found.names:
        assert found.row(name) == pytest.approx(enumerate_path_weights(graph, starts, name), abs=1e-12)


@given(graphs_with_starts())
def test_no_model_receives_more_than_a_whole_change(case: tuple[InheritanceGraph, list[str]]) -> None:
    totals = path_weights(*case).matrix.sum(axis=1)
    assert np.all(totals > 0)
    assert np.all(totals <= 1 + 1e-12)


@given(graphs_with_starts())
def test_two_passes_give_the_same_bits(case: tuple[InheritanceGraph, list[str]]) -> None:
    assert path_weights(*case).matrix.tobytes() == path_weights(*case).matrix.tobytes()


def test_a_path_through_another_start_is_cut_there() -> None:
    graph = InheritanceGraph.from_references({"s": [], "t": ["s"], "y": ["t"]})
    assert path_weights(graph, ["s", "t"]).row("y").tolist() == [0.0, 1.0]
    assert path_weights(graph, ["s"]).row("y").tolist() == [1.0]


def test_starts_must_be_known_and_given_once() -> None:
    graph = InheritanceGraph.from_references({"s": []})
    with pytest.raises(UnknownModelError, match="'z'"):
        path_weights(graph, ["z"])
    for starts in ([], ["s", "s"]):
        with pytest.raises(GraphError, match="each once"):
            path_weights(graph, starts)
