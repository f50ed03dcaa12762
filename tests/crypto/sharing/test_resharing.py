# SPDX-License-Identifier: Apache-2.0
"""Shares handed on open to the same numbers and do not fit the old ones; members that cheat are named."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.resharing import reshared
from blockful_py.crypto.sharing.residues import Array, Residues
from blockful_py.crypto.sharing.rounds import together
from blockful_py.crypto.sharing.shamir import evaluate, opened, polynomial
from blockful_py.errors import CheaterError, CryptoError

FIELD = Residues(3)
THRESHOLD, SIZE = 2, 4
SECRET = FIELD.of(np.arange(6).reshape(2, 3) - 2)


def shares_of(secret: Array, seed: int = 0) -> dict[int, Array]:
    coefficients = polynomial(FIELD, secret, THRESHOLD - 1, SeededRng(b"owner", seed))
    return {j: evaluate(FIELD, coefficients, j) for j in range(1, SIZE + 1)}


def handed_on(shares: Mapping[int, Array], seed: int = 0) -> dict[int, Array]:
    holders = [
        Shareholder(j, THRESHOLD, SIZE, FIELD, b"tests", SeededRng(b"member", seed, j))
        for j in range(1, SIZE + 1)
    ]
    return together(
        {
            each.index: reshared(each, shares.get(each.index), (2, 3), sorted(shares), "epoch 2")
            for each in holders
        }
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**16), st.sampled_from([None, 1, 3]))
def test_new_shares_open_to_the_same_numbers(seed: int, left: int | None) -> None:
    old = {j: each for j, each in shares_of(SECRET, seed).items() if j != left}
    new = handed_on(old, seed)
    value, wrong = opened(FIELD, new, THRESHOLD - 1, THRESHOLD - 1)
    assert np.array_equal(value, SECRET) and not wrong
    for j, each in old.items():
        assert not np.array_equal(new[j], each)
        mixed = {**new, j: each}
        assert opened(FIELD, mixed, THRESHOLD - 1, THRESHOLD - 1)[1] == (j,)


@pytest.mark.parametrize("liar", range(1, SIZE + 1))
def test_a_member_that_hands_on_another_share_is_named(liar: int) -> None:
    old = shares_of(SECRET)
    old[liar] = old[liar].copy()
    old[liar][1, 1, 2] ^= 1
    with pytest.raises(CheaterError, match="a share handed on from member") as error:
        handed_on(old)
    assert error.value.members == (liar,)


def test_too_few_members_cannot_hand_on() -> None:
    old = shares_of(SECRET)
    with pytest.raises(CryptoError, match="ask 3 members"):
        handed_on({j: old[j] for j in (1, 2)})
