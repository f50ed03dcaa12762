# SPDX-License-Identifier: Apache-2.0
"""Dealers of shares off a polynomial, of large numbers, or of numbers that differ by prime are found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.dealing import SELECTIONS, Dealing, DealingProof, DealtShares, Numbers, slack
from blockful_py.crypto.sharing.residues import Array, Residues
from blockful_py.crypto.sharing.shamir import interpolate
from blockful_py.errors import CheaterError

FIELD = Residues(5)
THRESHOLD, SIZE = 2, 4
KINDS = (Numbers((2, 3), 20), Numbers((4,), None))
RULES = Dealing(FIELD, THRESHOLD, SIZE, b"tests", KINDS)
NUMBERS = [FIELD.of(np.arange(6)), FIELD.random((4,), SeededRng(b"residues"))]


def dealt(
    numbers: list[Array], seed: int = 0, rules: Dealing = RULES
) -> tuple[DealingProof, dict[int, DealtShares]]:
    return rules.deal(1, numbers, SeededRng(seed.to_bytes(4, "big")))


def found_out(proof: DealingProof, shares: dict[int, DealtShares]) -> set[int]:
    """The members that complain, or all if everybody sees it."""
    if not RULES.is_bounded(proof):
        return {*shares}
    return {member for member, share in shares.items() if not RULES.checks_out(1, proof, member, share)}


@given(st.integers(0, 2**32 - 1))
def test_honest_shares_pass_and_open(seed: int) -> None:
    proof, shares = dealt(NUMBERS, seed)
    assert not found_out(proof, shares)
    for i, numbers in enumerate(NUMBERS):
        assert np.array_equal(interpolate(FIELD, {j: shares[j].numbers[i] for j in (2, 4)}), numbers)


def test_numbers_may_be_as_large_as_stated_and_not_beyond_the_slack() -> None:
    largest = [FIELD.of(np.full(6, 2**20 - 1)), NUMBERS[1]]
    assert not found_out(*dealt(largest))
    for number in (2 ** (20 + slack(6)), -(2 ** (20 + slack(6))), FIELD.modulus // 3):
        numbers = np.arange(6).astype(object)
        numbers[4] = number
        assert found_out(*dealt([FIELD.of(numbers), NUMBERS[1]])) == {1, 2, 3, 4}


def test_a_number_that_is_another_in_one_prime_is_found_out() -> None:
    for prime in range(FIELD.count):
        numbers = NUMBERS[0].copy()
        numbers[prime, 3] += 1
        assert found_out(*dealt([numbers, NUMBERS[1]])) == {1, 2, 3, 4}


def recommitted(
    shares: dict[int, DealtShares], change: Callable[[DealtShares], DealtShares]
) -> tuple[DealingProof, dict[int, DealtShares]]:
    """Member 3's share changed before the dealer commits, proves and deals."""

    cheated = {**shares, 3: change(shares[3])}
    commitments = tuple(each.commitment() for each in cheated.values())
    honest = {j: cheated[j] for j in (1, 2)}
    sums = []
    for i in range(len(KINDS)):
        at = {j: RULES._sum((1, i), commitments, s.numbers[i], s.masks[i]).T for j, s in honest.items()}
        zero, one = interpolate(FIELD, at, 0), interpolate(FIELD, at, 1)
        sums.append(np.stack([zero.T, FIELD.reduced(one - zero).T], 1))
    shown = np.stack([cheated[j].zeros for j in (1, 2)])
    return DealingProof(commitments, np.stack(sums), shown), cheated


def test_a_share_off_the_polynomial_is_found_out_by_its_member() -> None:
    _, shares = dealt(NUMBERS)

    def change(share: DealtShares) -> DealtShares:
        numbers = share.numbers[0].copy()
        numbers[2, 5] ^= 1
        return replace(share, numbers=(numbers, share.numbers[1]))

    assert found_out(*recommitted(shares, lambda share: share)) == set()
    assert found_out(*recommitted(shares, change)) == {3}


def test_shares_and_proofs_are_bound_to_each_other() -> None:
    proof, shares = dealt(NUMBERS)
    _, others = dealt(NUMBERS, 1)
    assert found_out(proof, {**shares, 2: others[2]}) == {2}
    assert found_out(proof, {**shares, 2: replace(shares[2], salt=bytes(32))}) == {2}
    assert not RULES.checks_out(2, proof, 1, shares[1])  # another dealer's copy
    elsewhere = replace(RULES, context=b"elsewhere")
    assert not elsewhere.checks_out(1, proof, 1, shares[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda proof: replace(proof, sums=proof.sums[:, 1:]),
        lambda proof: replace(proof, sums=proof.sums.astype(np.float64)),
        lambda proof: replace(proof, sums=proof.sums - 2**31),
        lambda proof: replace(proof, commitments=proof.commitments[1:]),
        lambda proof: replace(proof, commitments=(b"", *proof.commitments[1:])),
    ],
    ids=["short", "floats", "negative", "a commitment less", "an empty commitment"],
)
def test_malformed_proofs_are_refused(change: Callable[[DealingProof], DealingProof]) -> None:
    proof, shares = dealt(NUMBERS)
    broken = change(proof)
    with pytest.raises(CheaterError, match="the proof of shares dealt from member\\(s\\) 1 "):
        RULES.complaints(2, {1: broken}, {1: shares[2]})


def test_malformed_shares_are_complained_about() -> None:
    proof, shares = dealt(NUMBERS)
    large = replace(shares[2], numbers=(shares[2].numbers[0] + 2**31, shares[2].numbers[1]))
    for share in (large, replace(shares[2], numbers=()), replace(shares[2], masks=shares[2].numbers)):
        assert RULES.complaints(2, {1: proof}, {1: share}) == (1,)
    assert RULES.complaints(2, {1: proof}, {}) == (1,)


def test_dealers_answer_complaints() -> None:
    proof, shares = dealt(NUMBERS)
    _, others = dealt(NUMBERS, 1)
    RULES.settle({1: proof}, {2: (1,)}, {1: {2: shares[2]}})
    for answers in ({}, {1: {2: others[2]}}, {1: {3: shares[3]}}):
        with pytest.raises(CheaterError, match="the shares dealt from member\\(s\\) 1 "):
            RULES.settle({1: proof}, {2: (1,)}, answers)
    with pytest.raises(CheaterError):  # of two accusers one is honest
        RULES.settle({1: proof}, {2: (1,), 3: (1,)}, {1: {2: shares[2], 3: shares[3]}})


def test_sums_of_selections_hide_the_numbers() -> None:
    """The sums of 0 and of the largest numbers are alike: their mask is 2^40 times as large."""
    for numbers in (np.zeros(6, np.int64), np.full(6, 2**20 - 1)):
        proof, _ = dealt([FIELD.of(numbers), NUMBERS[1]])
        sums = FIELD.centred(proof.sums[0][:, 0].T)
        limit = 1 << KINDS[0].sum_bits - 1
        assert len(sums) == SELECTIONS
        assert 0.35 < np.mean([int(each) / limit for each in sums]) < 0.65


def test_a_field_too_small_for_the_proof_is_refused() -> None:
    with pytest.raises(ValueError, match="use more primes"):
        Dealing(Residues(2), THRESHOLD, SIZE, b"", KINDS)
