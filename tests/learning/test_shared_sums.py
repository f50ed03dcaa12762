# SPDX-License-Identifier: Apache-2.0
"""Heads opened from shared sums are the heads of these sums, and after requests of sums without the data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Residues
from blockful_py.crypto.sharing.rounds import together
from blockful_py.crypto.sharing.shamir import evaluate, polynomial
from blockful_py.errors import LearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.models.ridge import Head, head_of
from blockful_py.learning.shared_head import HeadPlan
from blockful_py.learning.shared_parts import numbers_of, part_dealing
from blockful_py.learning.shared_sums import Shared, SharedSums
from blockful_py.learning.sums import (
    CONSTANT,
    SHIFT,
    aggregate_sums,
    no_sums,
    part_of,
    total_of,
    with_part,
    without_classes,
)
from blockful_py.learning.weights import Weights

CLASSES, FEATURES, ROWS = 3, 7, 120
ENTRIES = FEATURES * (FEATURES + 1) // 2
THRESHOLD, SIZE = 2, 4
FIELD = Residues(11)
Graph = Mapping[str, tuple[str, ...]]
Parts = Mapping[str, NDArray[np.int32]]
Owned = Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]
GRAPH: Graph = {"r1": (), "r2": (), "r3": ("r1", "r2"), "r4": ("r1", "r2", "r3"), "r5": ("r3",)}


def samples(
    name: str, rows: Collection[int] = range(ROWS), spread: int = 25
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features (n, FEATURES) and labels of an owner's samples."""
    random = np.random.default_rng([*name.encode()])
    labels = np.arange(ROWS) % CLASSES
    centres = random.integers(0, 200, (CLASSES, FEATURES))
    features = np.clip(centres[labels] + random.normal(0, spread, (ROWS, FEATURES)), 0, CONSTANT).round()
    features[:, -1] = CONSTANT
    kept = [*rows]
    return features[kept], labels[kept].astype(np.int64)


def part(name: str, *args: Any) -> NDArray[np.int32]:
    return part_of(*samples(name, *args), CLASSES)


def committee(graph: Graph, owned: Owned, seed: int = 0) -> dict[int, SharedSums]:
    made = {}
    for j in range(1, SIZE + 1):
        holder = Shareholder(j, THRESHOLD, SIZE, FIELD, b"tests", SeededRng(seed.to_bytes(4, "big"), j))
        made[j] = SharedSums(holder, InheritanceGraph.from_references(graph), CLASSES, ENTRIES)
    for name, each in owned.items():
        deal(made, name, *each)
    return made


def deal(
    members: Mapping[int, SharedSums],
    name: str,
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> None:
    """An owner deals a part, and members check their shares before they keep them."""
    numbers, statement = numbers_of(features, labels, np.arange(len(labels)), CLASSES, FIELD)
    dealing = part_dealing(members[1].holder, name, statement)
    proof, shares = dealing.deal(0, numbers, SeededRng(b"owner", name))
    for j, member in members.items():
        assert dealing.is_bounded(proof) and dealing.checks_out(0, proof, j, shares[j])
        member.take(name, Shared(shares[j].numbers[0].reshape(-1, CLASSES, ENTRIES), statement.counts))


def clear(graph: Graph, parts: Parts, struck: Mapping[str, Collection[int]]) -> dict[str, Weights]:
    """State dicts of a federation in which the sums are seen by all."""
    models: dict[str, Weights] = {}
    for name, references in graph.items():
        start = (
            aggregate_sums([models[each] for each in references]) if references else no_sums(CLASSES, ENTRIES)
        )
        own = parts.get(name, np.zeros((CLASSES, ENTRIES), np.int32))
        models[name] = without_classes(with_part(start, own), struck.get(name, ()))
    return models


def require_equal(members: Mapping[int, SharedSums], models: Mapping[str, Weights], use: str) -> None:
    for name, weights in models.items():
        expected = head_of(total_of(weights), int(weights[SHIFT]))
        opened = together({j: member.head(name, use) for j, member in members.items()})
        for found in opened.values():
            require_same(found, expected)


def require_same(found: Head, expected: Head) -> None:
    assert found[1] == expected[1]
    assert np.array_equal(found[0], expected[0])


OWNED = {name: samples(name) for name in GRAPH}
PARTS = {name: part(name) for name in GRAPH}


def test_opened_heads_are_the_heads_of_the_sums() -> None:
    require_equal(committee(GRAPH, OWNED), clear(GRAPH, PARTS, {}), "first")


@pytest.mark.slow
def test_a_class_struck_out_was_never_there() -> None:
    members = committee(GRAPH, OWNED)
    for member in members.values():
        member.forget_classes(["r3"], [1])
    random = {name: [1] for name in ("r3", "r4", "r5")}
    struck = clear(GRAPH, PARTS, random)
    require_equal(members, struck, "second")
    without = {
        name: each * (np.arange(CLASSES) != 1)[:, None].astype(np.int32) for name, each in PARTS.items()
    }
    never = clear(GRAPH, without, {})
    assert not members[1].sums("r4").share[:, 1].any()
    for name in ("r3", "r5"):  # all ancestors' samples of the class are gone from them
        require_same(
            together({j: member.head(name, "again") for j, member in members.items()})[1],
            head_of(total_of(never[name]), int(never[name][SHIFT])),
        )


@pytest.mark.slow
def test_a_client_dropped_was_never_there() -> None:
    members = committee(GRAPH, OWNED)
    for member in members.values():
        member.forget_clients(["r1", "r4"])
    left = {name: each for name, each in PARTS.items() if name not in ("r1", "r4")}
    models = clear(GRAPH, left, {})
    del models["r1"]
    require_equal(members, models, "second")
    with pytest.raises(LearningError, match="the head of r1 would follow from 0 samples"):
        next(members[1].head("r1", "second"))


def test_heads_of_few_samples_are_refused() -> None:
    """111 samples are fewer than 16 for each of 7 features, also once a class is struck out of more."""
    members = committee(GRAPH, {**OWNED, "r1": samples("r1", range(111))})
    next(members[1].head("r2", "first"))
    with pytest.raises(LearningError, match=r"the head of r1 would follow from 111 samples, .* have 112"):
        next(members[1].head("r1", "first"))
    members[1].forget_classes(["r2"], [0])
    with pytest.raises(LearningError, match="the head of r2 would follow from 80 samples"):
        next(members[1].head("r2", "second"))


@pytest.mark.slow
def test_samples_taken_out_were_never_there() -> None:
    members = committee(GRAPH, OWNED)
    kept = [0, 1, 3, 4, *range(7, ROWS)]
    deal(members, "r1", *samples("r1", kept))
    require_equal(members, clear(GRAPH, {**PARTS, "r1": part("r1", kept)}, {}), "second")


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_any_graph_of_any_parts(data: st.DataObject) -> None:
    """Also of collinear features, and of numbers of samples that are far apart."""
    count = data.draw(st.integers(1, 4))
    names = [f"r{i}" for i in range(count)]
    graph = {
        name: tuple(data.draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else ())
        for i, name in enumerate(names)
    }
    owned = {
        name: samples(name, range(data.draw(st.integers(112, ROWS))), data.draw(st.sampled_from([0, 1, 200])))
        for name in names
    }
    parts = {name: part_of(*each, CLASSES) for name, each in owned.items()}
    members = committee(graph, owned, data.draw(st.integers(0, 2**16)))
    require_equal(members, clear(graph, parts, {}), "property")


def test_the_largest_parts_have_heads() -> None:
    """Of 33,025 samples of a class whose features are all 255: the largest eigenvalue meets its bound."""
    full = np.zeros((CLASSES, ENTRIES), np.int32)
    full[:2] = 33_025 * CONSTANT**2
    members = committee({"r1": ()}, {})
    dealt = polynomial(FIELD, FIELD.of(full.astype(np.int64)), THRESHOLD - 1, SeededRng(b"owner"))
    for j, member in members.items():
        member.take("r1", Shared(evaluate(FIELD, dealt, j), (33_025, 33_025, 0)))
    require_equal(members, clear({"r1": ()}, {"r1": full}, {}), "largest")


def test_a_field_too_small_is_refused() -> None:
    plan = HeadPlan(FEATURES, (40, 40, 40), 0, THRESHOLD)
    holder = Shareholder(1, THRESHOLD, SIZE, Residues(plan.primes - 1), b"", SeededRng(b""))
    member = SharedSums(holder, InheritanceGraph.from_references({"r1": ()}), CLASSES, ENTRIES)
    member.take("r1", Shared(np.zeros((plan.primes - 1, CLASSES, ENTRIES), np.int64), (40, 40, 40)))
    with pytest.raises(LearningError, match=f"needs {plan.primes} primes, .* modulo {plan.primes - 1}"):
        next(member.head("r1", "first"))


def test_the_plan_is_bounded() -> None:
    """Chebyshev's steps bring every eigenvalue from the least possible one to 1, and the field holds all."""
    plan = HeadPlan(129, (140,) * 10, 0, THRESHOLD)
    eigenvalues = np.geomspace(plan.least * plan.factor / 2**62, 1, 1000)
    for alpha, beta in plan.steps:
        eigenvalues = eigenvalues * (alpha - beta * eigenvalues)
        assert eigenvalues.max() <= 1 + 1e-12
    assert eigenvalues.min() > 1 - 2.0**-16
    primes = [HeadPlan(129, (140 << shift,) * 10, shift, THRESHOLD).primes for shift in (0, 6, 40)]
    assert primes == [11, 11, 11]
