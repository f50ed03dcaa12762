# SPDX-License-Identifier: Apache-2.0
"""Owners whose parts are no sums over their samples are found out by members who see shares alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Array, Residues
from blockful_py.crypto.sharing.rounds import together
from blockful_py.crypto.sharing.shamir import evaluate, polynomial
from blockful_py.errors import CheaterError, RefutedError
from blockful_py.learning.shared_parts import SumOverSamples, numbers_of, part_dealing, require_rest
from blockful_py.learning.sums import CONSTANT

FIELD = Residues(11)
CLASSES, FEATURES = 3, 4
HOLDER = Shareholder(1, 2, 4, FIELD, b"tests", SeededRng(b""))
LABELS = np.array([2, 0, 0, 2, 0])
SAMPLES = np.array([[1, 2, 3], [255, 255, 255], [0, 0, 0], [9, 8, 7], [200, 0, 17]], np.float64)
ROWS = np.concatenate([SAMPLES, np.full((5, 1), float(CONSTANT))], 1)
NUMBERS = np.arange(5)


def found_out(numbers: list[Array], statement: SumOverSamples) -> set[int]:
    """Members that complain, of 4."""
    dealing = part_dealing(HOLDER, "r1", statement)
    proof, shares = dealing.deal(0, numbers, SeededRng(b"owner"))
    if not dealing.is_bounded(proof):
        return {*shares}
    return {j for j, share in shares.items() if not dealing.checks_out(0, proof, j, share)}


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_honest_parts_pass(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    features = random.integers(0, 256, (count, FEATURES)).astype(np.float64)
    features[:, -1] = CONSTANT
    labels = random.integers(0, CLASSES, count)
    assert not found_out(*numbers_of(features, labels, random.permutation(count), CLASSES, FIELD))


def plus(kind: int, index: int, number: int) -> Callable[[list[Array]], None]:
    def change(numbers: list[Array]) -> None:
        numbers[kind][:, index] = FIELD.reduced(numbers[kind][:, index] + FIELD.of(number))

    return change


@pytest.mark.parametrize(
    "change",
    [
        plus(0, 0, 1),
        plus(0, 3, -1),
        plus(0, 10, 5),
        plus(0, 9, CONSTANT**2),
        plus(1, 4, 1),
        plus(2, 0, 2),
        plus(2, 0, -1),
    ],
    ids=["square", "product", "absent class", "count", "feature", "bit of 2 or 3", "bit changed"],
)
def test_other_parts_are_found_out(change: Callable[[list[Array]], None]) -> None:
    numbers, statement = numbers_of(ROWS, LABELS, NUMBERS, CLASSES, FIELD)
    assert not found_out(numbers, statement)
    change(numbers)
    # member 1 and 2 fix the polynomial that is shown
    assert len(found_out(numbers, statement)) >= 2


def test_sums_of_larger_features_than_255_are_found_out() -> None:
    """Their products add up, but no bits make up a negative rest."""
    rows = ROWS.copy()
    rows[:, :-1] = 300
    counts = np.bincount(LABELS, minlength=CLASSES)
    numbers, statement = numbers_of(rows, LABELS, NUMBERS, CLASSES, FIELD)
    assert (CONSTANT**2 * FEATURES * counts < (rows[0] ** 2).sum() * counts).any()
    assert found_out(numbers, statement)


def test_a_statement_of_other_samples_is_found_out() -> None:
    numbers, statement = numbers_of(ROWS, LABELS, NUMBERS, CLASSES, FIELD)
    other = SumOverSamples((2, 0, 3), FEATURES)
    assert [each.size for each in other.kinds()] == [each.size for each in statement.kinds()]
    assert found_out(numbers, other)


def test_the_bits_of_another_number_modulo_one_prime_are_found_out() -> None:
    """1 in one prime and 0 in the others is its own square, but no small number."""
    numbers, statement = numbers_of(ROWS, LABELS, NUMBERS, CLASSES, FIELD)
    numbers[2][4, 2] ^= 1
    assert found_out(numbers, statement) == {1, 2, 3, 4}


REST = Residues(3)


def shared_samples(features: Array, labels: Array, rows: Array) -> dict[int, dict[int, Array]]:
    """Shares of 4 members, of degree 1, by member and class."""
    random, found = SeededRng(b"rest"), dict[int, dict[int, Array]]()
    for label in np.unique(labels):
        here = labels == label
        numbers = np.concatenate([features[here, :-1].astype(np.int64), rows[here, None]], 1)
        coefficients = polynomial(REST, REST.of(numbers), 1, random)
        for j in range(1, 5):
            found.setdefault(j, {})[int(label)] = evaluate(REST, coefficients, j)
    return found


def checked(old: dict[int, dict[int, Array]], new: dict[int, dict[int, Array]], named: set[int]) -> None:
    together(
        {
            j: require_rest(
                Shareholder(j, 2, 4, REST, b"tests", SeededRng(b"")), old[j], new[j], named, [b"commitment"]
            )
            for j in old
        }
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_what_is_left_without_named_rows_passes_and_nothing_else(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    features = random.integers(0, 256, (count, FEATURES)).astype(np.float64)
    labels, rows = random.integers(0, CLASSES, count), random.permutation(count * 3)[:count]
    taken = random.permutation(count) < random.integers(1, count)
    old, named = shared_samples(features, labels, rows), {*rows[taken].tolist(), count * 3}
    left = ~taken
    checked(old, shared_samples(features[left], labels[left], rows[left]), named)
    other = features[left].copy()
    other[-1, 0] = 255 - other[-1, 0]
    renumbered = rows[left].copy()
    renumbered[0] = rows[taken][0]
    lies = [(other, labels[left], rows[left]), (features[left], labels[left], renumbered)]
    lies += [(features, labels, rows), (features[left], (labels[left] + 1) % CLASSES, rows[left])]
    for lie in lies:
        with pytest.raises(RefutedError):
            checked(old, shared_samples(*lie), named)
    with pytest.raises(RefutedError):
        checked(old, shared_samples(features[left], labels[left], rows[left]), {*named, int(rows[left][0])})


def test_another_sample_taken_out_of_the_same_class_is_found_out() -> None:
    old = shared_samples(ROWS, LABELS, NUMBERS)
    for lost, passes in ((1, True), (2, False), (4, False)):
        left = lost != NUMBERS
        new = shared_samples(ROWS[left], LABELS[left], NUMBERS[left])
        with nullcontext() if passes else pytest.raises(RefutedError, match="other samples"):
            checked(old, new, {1})


def test_a_member_that_lies_about_a_row_is_named() -> None:
    old = shared_samples(ROWS, LABELS, NUMBERS)
    left = NUMBERS != 1
    new = shared_samples(ROWS[left], LABELS[left], NUMBERS[left])
    old[3][0][:, 0, -1] = REST.reduced(old[3][0][:, 0, -1] + 1)
    with pytest.raises(CheaterError) as found:
        checked(old, new, {1})
    assert found.value.members == (3,)
