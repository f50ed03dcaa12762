# SPDX-License-Identifier: Apache-2.0
"""The paper's attack probability against its definition, enumeration and simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.committee.risk import (
    MAX_POOL,
    Pool,
    Sizes,
    attack_probabilities,
    attack_probability,
    simulate,
    sizes_within,
    tolerated,
)
from blockful_py.errors import SettingsError

PAPER = Pool(30, 10, Fraction("0.2"))


def as_printed(pool: Pool, n: int) -> Fraction:
    """The double sum as the paper prints it; a binomial coefficient outside its triangle is zero."""
    P, M, rho, f = pool.candidates, pool.malicious, pool.rho, tolerated(n)
    total = Fraction(0)
    for k in range(f + 1, M + 1):
        if k <= n:
            drawn = Fraction(comb(M, k) * comb(P - M, n - k), comb(P, n))
            total += drawn * sum(comb(k, i) * rho**i * (1 - rho) ** (k - i) for i in range(f + 1, k + 1))
    return total


def enumerated(pool: Pool, n: int) -> Fraction:
    """Enumerates all committees, and all choices of their malicious members to attack or not."""
    total, committees = Fraction(0), 0
    for members in combinations(range(pool.candidates), n):
        committees += 1
        malicious = sum(member < pool.malicious for member in members)
        for attacks in product((False, True), repeat=malicious):
            if sum(attacks) > tolerated(n):
                total += pool.rho ** sum(attacks) * (1 - pool.rho) ** (malicious - sum(attacks))
    return total / committees


@st.composite
def pools(draw: st.DrawFn, most: int) -> tuple[Pool, int]:
    candidates = draw(st.integers(1, most))
    rho = draw(st.fractions(0, 1, max_denominator=9))
    pool = Pool(candidates, draw(st.integers(0, candidates)), rho)
    return pool, draw(st.integers(1, candidates))


def test_the_papers_numbers_give_the_papers_figure() -> None:
    found = attack_probability(PAPER, 21)
    assert found == Fraction(873806086, 13971826171875)
    assert f"{float(found):.2e}" == "6.25e-05"
    assert tolerated(21) == 6


@given(pools(40))
@settings(max_examples=100)
def test_the_sum_is_the_papers(given_: tuple[Pool, int]) -> None:
    assert attack_probability(*given_) == as_printed(*given_)


@given(pools(9))
@settings(max_examples=60)
def test_the_sum_is_what_enumeration_counts(given_: tuple[Pool, int]) -> None:
    assert attack_probability(*given_) == enumerated(*given_)


@given(pools(60))
@settings(max_examples=40)
def test_floating_point_agrees_to_nine_digits(given_: tuple[Pool, int]) -> None:
    pool, size = given_
    exact = float(attack_probability(pool, size))
    assert attack_probabilities(pool)[size - 1] == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_a_large_pool_agrees_too() -> None:
    pool = Pool(1000, 330, Fraction(2, 5))
    assert attack_probabilities(pool)[399] == pytest.approx(float(attack_probability(pool, 400)), rel=1e-9)


@given(pools(20), st.fractions(0, 1, max_denominator=9))
@settings(max_examples=60)
def test_more_malice_is_more_risk(given_: tuple[Pool, int], rho: Fraction) -> None:
    pool, size = given_
    low, high = sorted((pool.rho, rho))
    risks = [
        attack_probability(Pool(pool.candidates, malicious, each), size)
        for each in (low, high)
        for malicious in (pool.malicious, min(pool.malicious + 1, pool.candidates))
    ]
    assert 0 <= risks[0] <= min(risks[1:])
    assert max(risks) == risks[3] <= 1


def test_certain_outcomes() -> None:
    assert attack_probability(Pool(9, 0, Fraction(1)), 4) == 0
    assert attack_probability(Pool(9, 9, Fraction(1)), 4) == 1
    assert attack_probability(Pool(9, 9, Fraction(0)), 4) == 0
    assert attack_probability(Pool(9, 1, Fraction(1)), 4) == 0
    assert attack_probability(Pool(10, 4, Fraction(1)), 10) == 1


def test_the_simulation_contains_the_exact_number_and_repeats() -> None:
    pool = Pool(30, 10, Fraction("0.5"))
    exact = float(attack_probability(pool, 10))
    found = simulate(pool, 10, 400_000, 3)
    assert found.low < exact < found.high
    assert found.low < found.frequency < found.high
    assert found == simulate(pool, 10, 400_000, 3)
    assert found != simulate(pool, 10, 400_000, 5)


def test_the_papers_figure_lies_in_the_interval_of_a_simulation() -> None:
    found = simulate(PAPER, 21, 3_000_000, 1)
    assert found.low < 6.254e-5 < found.high
    assert found.high / found.low < 1.4


def test_the_interval_is_that_of_clopper_and_pearson() -> None:
    never = simulate(Pool(5, 0, Fraction(1)), 3, 100, 0)
    always = simulate(Pool(5, 5, Fraction(1)), 3, 100, 0)
    # No hit in 100: 1 - 0.025^(1/100) = 0.0362.
    assert (never.hits, never.low) == (0, 0.0)
    assert never.high == pytest.approx(1 - 0.025**0.01)
    assert (always.hits, always.high) == (100, 1.0)
    assert always.low == pytest.approx(0.025**0.01)


def test_sizes_for_a_wanted_risk() -> None:
    # Sizes 25 and 26 are within, 27 is not (1.4e-6), from 28 on all are.
    assert sizes_within(PAPER, Fraction("1e-6")) == Sizes(25, 28)
    assert sizes_within(PAPER, Fraction("1e-9")) == Sizes(None, None)
    assert sizes_within(Pool(30, 0, Fraction(1)), Fraction(1, 10)) == Sizes(1, 1)
    # Of 10, 4 malicious and certain to attack: the whole pool is never within, some smaller sizes are.
    found = sizes_within(Pool(10, 4, Fraction(1)), Fraction(2, 5))
    assert found.smallest is not None
    assert found.lasting is None


def test_a_target_that_a_size_meets_exactly_is_met() -> None:
    exact = attack_probability(PAPER, 25)
    assert sizes_within(PAPER, exact).smallest == 25
    assert sizes_within(PAPER, exact - Fraction(1, 10**30)).smallest == 28


@pytest.mark.parametrize(
    ("candidates", "malicious", "rho", "reason"),
    [
        (0, 0, 1, "a pool has 1 to"),
        (MAX_POOL + 1, 0, 1, "a pool has 1 to"),
        (5, 6, 1, "0 to 5 are malicious, not 6"),
        (5, -1, 1, "are malicious"),
        (5, 1, Fraction(6, 5), r"from 0 to 1, not 1\.2"),
        (5, 1, -1, "from 0 to 1"),
    ],
)
def test_numbers_out_of_range_are_refused(
    candidates: int, malicious: int, rho: Fraction, reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        Pool(candidates, malicious, Fraction(rho))


def test_sizes_trials_and_targets_out_of_range_are_refused() -> None:
    for size in (0, 31, -3):
        with pytest.raises(SettingsError, match=f"1 to 30 of the candidates, not {size}"):
            attack_probability(PAPER, size)
        with pytest.raises(SettingsError, match="of the candidates"):
            simulate(PAPER, size, 10, 1)
    for trials, seed in ((0, 1), (1, -1)):
        with pytest.raises(SettingsError, match="1 trial or more and a seed from 0"):
            simulate(PAPER, 21, trials, seed)
    for target in (Fraction(0), Fraction(1), Fraction(-1)):
        with pytest.raises(SettingsError, match="between 0 and 1"):
            sizes_within(PAPER, target)
