# SPDX-License-Identifier: Apache-2.0
"""Models of sums against Python's own integers: what is added up, its bounds, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import LearningError
from blockful_py.learning.sums import (
    BITS,
    CONSTANT,
    INHERITED,
    LARGEST_PART,
    OWN,
    SHIFT,
    WORDS,
    aggregate_sums,
    held,
    no_sums,
    part_of,
    require_bounds,
    require_inherited,
    require_part,
    total_of,
    with_part,
    without_classes,
)
from blockful_py.learning.weights import aggregate, equal, from_bytes, to_bytes

Sums = dict[str, torch.Tensor]


def value(weights: Sums) -> int:
    """T_y of a model with one entry."""
    return sum(int(word) << (BITS * i) for i, word in enumerate(total_of(weights)[:, 0, 0]))


def model(part: int, references: Sequence[Sums] = ()) -> Sums:
    """A model with one class and one entry."""
    inherited = aggregate_sums(references) if references else no_sums(1, 1)
    return with_part(inherited, np.array([[part]], np.int32))


def meant(part: int, shift: int, references: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """T_y and e_y by their definition, from (T_r, e_r)."""
    bits = next(k for k in range(9) if 2**k >= len(references)) if references else 0
    shift = bits + max((e for _, e in references), default=0)
    return (part << shift) + sum(total << (shift - bits - e) for total, e in references), shift


@given(st.data())
def test_sums_are_those_of_whole_numbers(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.integers(0, LARGEST_PART), min_size=1, max_size=25))
    made: list[Sums] = []
    expected: list[tuple[int, int]] = []
    for i, part in enumerate(parts):
        above = data.draw(st.lists(st.integers(max(0, i - 5), i - 1), max_size=4, unique=True)) if i else []
        made.append(model(part, [made[j] for j in above]))
        expected.append(meant(part, 0, [expected[j] for j in above]))
    for weights, (total, shift) in zip(made, expected, strict=True):
        assert (value(weights), int(weights[SHIFT])) == (total, shift)


@pytest.mark.parametrize(("references", "generations"), [(1, 200), (2, 86), (3, 43), (4, 43)])
def test_the_stated_generations_fit_with_the_largest_parts(references: int, generations: int) -> None:
    newest = [model(LARGEST_PART)] * references
    for generation in range(1, generations + 1):
        newest = [model(LARGEST_PART, newest)] * references
        shift = (references - 1).bit_length() * generation
        assert int(newest[0][SHIFT]) == shift
        assert value(newest[0]) < (generation + 1) << (shift + 31)


@pytest.mark.parametrize("references", [2, 3, 4])
def test_sums_of_too_many_generations_are_refused(references: int) -> None:
    newest = [model(LARGEST_PART)] * references
    with pytest.raises(LearningError, match="more than 124 bits"):
        for _ in range(WORDS * BITS):
            newest = [model(LARGEST_PART, newest)] * references
    bare = [no_sums(1, 1) | {SHIFT: torch.tensor(WORDS * BITS - 1)}] * 2
    with pytest.raises(LearningError, match="more than 124 bits"):
        aggregate_sums(bare)


def features(rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Features, (rows, 4), the constant one last, and labels of two of three classes."""
    random = np.random.default_rng(seed)
    found = np.concatenate([random.integers(0, 256, (rows, 3)), np.full((rows, 1), CONSTANT)], 1)
    return found.astype(np.float64), random.choice([0, 2], rows)


def test_a_part_is_the_sum_of_its_samples() -> None:
    x, y = features(50)
    part, expected = part_of(x, y, 3), np.zeros((3, 10), np.int64)
    for row, label in zip(x.astype(int), y, strict=True):
        expected[label] += np.outer(row, row)[np.triu_indices(4)]
    assert (part == expected).all()
    assert (part_of(x[:20], y[:20], 3) + part_of(x[20:], y[20:], 3) == part).all()
    assert held(with_part(no_sums(3, 10), part)) == (0, 2)
    require_part(torch.from_numpy(part))


def test_a_part_of_31_bits_is_full() -> None:
    rows = LARGEST_PART // CONSTANT**2
    full = np.full((rows + 1, 1), float(CONSTANT))
    assert rows == 33_025
    assert part_of(full[1:], np.zeros(rows, np.int64), 1).max() <= LARGEST_PART
    with pytest.raises(LearningError, match=r"33,026 samples of class 0.*at most 33,025"):
        part_of(full, np.zeros(rows + 1, np.int64), 1)


def test_they_are_stored_like_weights() -> None:
    weights = model(7, [model(5), model(2)])
    assert equal(from_bytes(to_bytes(weights)), weights)
    assert equal(aggregate([model(5), model(2)]), aggregate_sums([model(5), model(2)]))
    with pytest.raises(LearningError, match="different architectures"):
        aggregate([model(5), no_sums(2, 1)])


def test_a_class_is_struck_out_of_a_copy() -> None:
    x, y = features(50)
    root = with_part(no_sums(3, 10), part_of(x, y, 3))
    weights = with_part(aggregate_sums([root, root, root]), part_of(x, y, 3))
    struck = without_classes(weights, [2])
    assert (held(weights), held(struck)) == ((0, 2), (0,))
    never = with_part(no_sums(3, 10), part_of(x[y == 0], y[y == 0], 3))
    assert equal(struck, with_part(aggregate_sums([never] * 3), part_of(x[y == 0], y[y == 0], 3)))


OUT_OF_BOUNDS: dict[str, tuple[str, Any]] = {
    "a negative part": (OWN, -1),
    "a negative sum": (INHERITED, -1),
    "more than a word's bits": (INHERITED, 1 << BITS),
    "a negative shift": (SHIFT, -1),
    "a shift beyond all bits": (SHIFT, WORDS * BITS),
}


@pytest.mark.parametrize("what", OUT_OF_BOUNDS)
def test_numbers_out_of_bounds_are_refused(what: str) -> None:
    name, number = OUT_OF_BOUNDS[what]
    weights = model(5)
    require_bounds(weights)
    weights[name] = torch.full_like(weights[name], number)
    with pytest.raises(LearningError, match="refuse it"):
        require_bounds(weights)
    with pytest.raises(LearningError, match="refuse it"):
        aggregate_sums([weights])


Change = Callable[[torch.Tensor], Any]
LIES: dict[str, Change] = {
    "entries of no vectors": lambda part: part[0].__setitem__(1, LARGEST_PART),
    "half a sample": lambda part: part[0].__setitem__(-1, part[0, -1] + 1),
    "features above the constant": lambda part: part[0].__setitem__(0, part[0, 3] + 1),
    "more than the samples can give": lambda part: part[0].__setitem__(3, part[0, -1] + 1),
    "features without samples": lambda part: part[1].__setitem__(0, 1),
    "a negative entry": lambda part: part[0].__setitem__(1, -1),
}


@pytest.mark.parametrize("what", LIES)
def test_a_part_that_no_samples_have_is_refused(what: str) -> None:
    part = torch.from_numpy(part_of(*features(50), 3))
    LIES[what](part)
    with pytest.raises(LearningError, match="no sum over samples"):
        require_part(part)


def test_a_model_inherits_its_references_and_nothing_else() -> None:
    part = part_of(*features(30), 3)
    root = with_part(no_sums(3, 10), part)
    heir = with_part(aggregate_sums([root, root]), part)
    require_inherited(root, [])
    require_inherited(heir, [root, root])
    for references in ([], [root], [root, heir]):
        with pytest.raises(LearningError, match="add them up again"):
            require_inherited(heir, references)
    more = heir | {INHERITED: heir[INHERITED] * 2}
    with pytest.raises(LearningError, match="add them up again"):
        require_inherited(more, [root, root])
