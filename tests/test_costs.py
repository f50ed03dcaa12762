# SPDX-License-Identifier: Apache-2.0
"""The cost model equals the paper's formulas, and equals counting step by step."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py import costs
from blockful_py.costs import Operations, Prices
from blockful_py.errors import UnknownModelError


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str]]:
    """Random references (0 to 4 a model), and some updated models in topological order."""
    size = draw(st.integers(1, 25))
    references: dict[str, list[str]] = {}
    for i in range(size):
        earlier = list(references)
        references[f"r{i}"] = draw(
            st.lists(st.sampled_from(earlier), max_size=4, unique=True) if earlier else st.just([])
        )
    chosen = draw(st.lists(st.sampled_from(sorted(references)), min_size=1, unique=True))
    return references, sorted(chosen, key=lambda name: int(name[1:]))


def test_parallel_is_k_plus_l_hashes_one_consensus_and_2k_transfers() -> None:
    assert costs.expected_parallel(9, 4) == Operations(9, 4, 1, 9, 9)


def test_sequential_is_2k_hashes_k_consensus_and_2k_plus_n_transfers() -> None:
    assert costs.expected_sequential(9, 2) == Operations(9, 9, 9, 9, 9 + 2 * 8)


@given(requests(), st.integers(1, 25))
def test_counting_step_by_step_gives_the_formulas(
    request_: tuple[dict[str, list[str]], list[str]], block_size: int
) -> None:
    references, updated = request_
    blocks = {int(name[1:]) // block_size for name in updated}

    parallel = Operations(consensus=1)
    for _ in blocks:
        parallel += Operations(ch_blocks=1)
    for _ in updated:
        parallel += Operations(ch_transactions=1, uploads=1, downloads=1)

    sequential = Operations()
    for place, name in enumerate(updated):
        for _ in references[name] if place else ():
            sequential += Operations(downloads=1)
        sequential += Operations(1, 1, 1, 1, 1)

    n = costs.mean_references(references, updated)
    assert parallel == costs.expected_parallel(len(updated), len(blocks))
    assert sequential == costs.expected_sequential(len(updated), n)
    assert sequential.transfers == 2 * len(updated) + n * (len(updated) - 1)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 4), st.integers(1, 21), st.integers(1, 10**6))
def test_cost_and_energy_equal_the_papers_expressions(k: int, l: int, n: int, m: int, s: int) -> None:  # noqa: E741
    l = min(k, l)  # noqa: E741
    prices = Prices(chameleon_hash=3.0, consensus=5.0, transfer=2.0)
    parallel, sequential = costs.expected_parallel(k, l), costs.expected_sequential(k, n)
    assert costs.blockchain_cost(parallel, prices) == (k + l) * 3 + 5 + 2 * k * 2
    assert costs.blockchain_cost(sequential, prices) == 2 * k * 3 + k * 5 + 2 * k * 2 + n * (k - 1) * 2
    assert costs.blockchain_energy(parallel, m, s, prices) == (k + l) * m * 3 + m * 5 + 2 * k * s * 2
    assert costs.blockchain_energy(sequential, m, s, prices) == (
        2 * k * m * 3 + k * m * 5 + 2 * k * s * 2 + n * (k - 1) * s * 2
    )


def test_mean_references_leaves_the_first_start_out() -> None:
    references = {"a": ["x", "y", "z"], "b": ["a"], "c": ["a", "b"], "x": [], "y": [], "z": []}
    assert costs.mean_references(references, ["a", "b", "c"]) == Fraction(3, 2)
    assert costs.mean_references(references, ["a"]) == 0
    assert costs.expected_sequential(1, 0).downloads == 1


def test_refusals() -> None:
    with pytest.raises(ValueError, match="at least its start"):
        costs.expected_parallel(0, 0)
    with pytest.raises(ValueError, match="blocks"):
        costs.expected_parallel(3, 4)
    with pytest.raises(ValueError, match="whole number"):
        costs.expected_sequential(3, Fraction(1, 3))
    with pytest.raises(UnknownModelError, match="'b'"):
        costs.mean_references({"a": []}, ["a", "b"])
    with pytest.raises(ValueError, match="twice"):
        costs.mean_references({"a": []}, ["a", "a"])
    with pytest.raises(ValueError, match="counted from 0"):
        Operations(downloads=-1)
