# SPDX-License-Identifier: Apache-2.0
"""Products of shares are divided and opened with nothing shown, and members that lie are found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder, divided, divided_bits, error_bits, open_sums
from blockful_py.crypto.sharing.residues import Array, Residues, scale
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent, Traffic, together
from blockful_py.crypto.sharing.shamir import evaluate, opened, polynomial
from blockful_py.errors import CheaterError, CryptoError

FIELD = Residues(8)
BITS = 100
SIZES = [(2, 4), (3, 7)]


def holders(threshold: int, size: int, seed: int = 0) -> dict[int, Shareholder]:
    return {
        j: Shareholder(j, threshold, size, FIELD, b"tests", SeededRng(seed.to_bytes(4, "big"), j))
        for j in range(1, size + 1)
    }


def shared(numbers: np.ndarray, threshold: int, size: int, seed: int = 0) -> dict[int, Array]:
    coefficients = polynomial(FIELD, FIELD.of(numbers), threshold - 1, SeededRng(b"dealer", seed))
    return {j: evaluate(FIELD, coefficients, j) for j in range(1, size + 1)}


def products(
    left: np.ndarray, right: np.ndarray, threshold: int, size: int, primes: int, seed: int = 0
) -> dict[int, Protocol[Array]]:
    """Each member's protocol of a matrix product, divided by D_s."""
    a, b = shared(left, threshold, size, seed), shared(right, threshold, size, seed + 1)
    return {
        j: divided(holder, FIELD.matmul(a[j], b[j]), BITS, primes, "product")
        for j, holder in holders(threshold, size, seed).items()
    }


def lying(protocol: Protocol[Array], turn: int, lie: Callable[[Sent], Sent]) -> Protocol[Array]:
    """The protocol of a member that changes its messages in round `turn`, from 1."""
    sent = next(protocol)
    try:
        while True:
            turn -= 1
            got: Inbox = yield lie(sent) if turn == 0 else sent
            sent = protocol.send(got)
    except StopIteration as stop:
        result: Array = stop.value
        return result


LEFT = np.array([[3, -5], [2**40, 7]], object)
RIGHT = np.array([[2**50, 1], [-(2**52), 11]], object)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_product_is_divided(data: st.DataObject) -> None:
    threshold, size = data.draw(st.sampled_from(SIZES))
    primes = data.draw(st.integers(0, 3))
    entries = st.lists(st.integers(-(2**48), 2**48), min_size=4, max_size=4)
    left, right = (np.array(data.draw(entries), object).reshape(2, 2) for _ in range(2))
    found = together(products(left, right, threshold, size, primes, data.draw(st.integers(0, 2**16))))
    value, wrong = opened(FIELD, found, threshold - 1, threshold - 1)
    error = FIELD.centred(value) - (left @ right) // scale(primes)
    assert not wrong
    assert all(0 <= each <= (threshold if primes else 0) for each in error.flat)


def test_the_stated_largest_numbers_fit() -> None:
    limit = 2**BITS - 1
    for number in (limit, -limit):
        found = together(products(np.array([[number]], object), np.array([[1]], object), 2, 4, 2))
        value, _ = opened(FIELD, found, 1, 1)
        assert 0 <= FIELD.centred(value).item() - number // scale(2) <= 2


def test_an_opening_shows_the_number_of_a_mask() -> None:
    """The opened numbers of 0 and of the largest are alike: the least mask is 2^40 times as large."""
    shown = []

    def listening(protocol: Protocol[Array]) -> Protocol[Array]:
        sent = next(protocol)
        try:
            while True:
                got = yield sent
                sent = protocol.send(got)
        except StopIteration as stop:
            shown.append(opened(FIELD, got.public, 2, 1)[0])
            result: Array = stop.value
            return result

    numbers = np.concatenate([np.zeros(400, np.int64), np.full(400, 2**48)]).astype(object)
    protocols = products(numbers[:, None], np.array([[2**50]], object), 2, 4, 2)
    together({**protocols, 4: listening(protocols[4])})
    values = FIELD.centred(shown[-1]).astype(np.float64).reshape(2, 400)
    limit = 2 * 2.0 ** (BITS + 40)
    assert abs(values[0].mean() - values[1].mean()) < 0.2 * limit
    assert limit < values.max() < 4 * limit


@pytest.mark.parametrize("liar", [1, 4])
def test_a_wrong_share_of_a_product_is_found_out(liar: int) -> None:
    protocols = products(LEFT, RIGHT, 2, 4, 1)

    def lie(sent: Sent) -> Sent:
        changed = sent.public.copy()
        changed[0, 1, 1] ^= 1
        return replace(sent, public=changed)

    with pytest.raises(CryptoError, match="some are wrong, and which cannot be told"):
        together({**protocols, liar: lying(protocols[liar], 3, lie)})


def test_a_wrong_share_of_a_sum_is_named() -> None:
    shares = shared(LEFT, 2, 4)
    protocols = {j: open_sums(holder, shares[j], 1) for j, holder in holders(2, 4).items()}
    for broken in (replace(Sent(), public=shares[3]), Sent(b"x"), Sent(shares[2][:1])):
        protocols = {j: open_sums(holder, shares[j], 1) for j, holder in holders(2, 4).items()}
        with pytest.raises(CheaterError, match="a share of a sum to open from member\\(s\\) 2 ") as error:
            together({**protocols, 2: lying(protocols[2], 1, partial(changed_to, broken))})
        assert error.value.members == (2,)


def changed_to(lie: Sent, _: Sent) -> Sent:
    return lie


def dealers(threshold: int, size: int) -> list[int]:
    """Members that deal masks in round 1."""
    first = {j: next(each) for j, each in products(LEFT, RIGHT, threshold, size, 1).items()}
    return [j for j, sent in first.items() if sent.private]


def test_one_dealer_more_than_could_conspire() -> None:
    assert [len(dealers(*each)) for each in SIZES] == [2, 3]


def test_a_mask_that_one_member_gets_wrong_names_its_dealer() -> None:
    dealer = dealers(2, 4)[0]
    victim = dealer % 4 + 1

    def lie(sent: Sent) -> Sent:
        share = sent.private[victim]
        numbers = (share.numbers[0] ^ 1, *share.numbers[1:])
        return replace(sent, private={**sent.private, victim: replace(share, numbers=numbers)})

    def never(sent: Sent) -> Sent:
        return replace(sent, private={})

    protocols = products(LEFT, RIGHT, 2, 4, 1)
    # it answers the complaint rightly, and the victim goes on with the answer
    found = together({**protocols, dealer: lying(protocols[dealer], 1, lie)})
    value, wrong = opened(FIELD, found, 1, 1)
    assert not wrong and FIELD.centred(value)[0, 0] - (LEFT @ RIGHT // scale(1))[0, 0] <= 2
    protocols = products(LEFT, RIGHT, 2, 4, 1)
    with pytest.raises(CheaterError, match="the shares dealt") as error:  # all others complain
        together({**protocols, dealer: lying(protocols[dealer], 1, never)})
    assert error.value.members == (dealer,)


def test_a_dealer_of_large_masks_is_named() -> None:
    dealer = dealers(2, 4)[0]
    protocols = products(LEFT, RIGHT, 2, 4, 1)

    def lie(sent: Sent) -> Sent:
        sums = sent.public.sums.copy()
        sums[0, 0, 0] = FIELD.of(-1)
        return replace(sent, public=replace(sent.public, sums=sums))

    with pytest.raises(CheaterError, match="the proof of shares dealt") as error:
        together({**protocols, dealer: lying(protocols[dealer], 1, lie)})
    assert error.value.members == (dealer,)


def test_a_dealer_may_shift_a_quotient_as_far_as_stated_and_no_further() -> None:
    """Of masks that pass, the largest change a quotient by less than `error_bits`."""
    from blockful_py.crypto.sharing import products as module

    size, honest = 1, Residues.random_below

    def large(field: Residues, shape: Any, primes: int, bits: int, rng: Any) -> Array:
        found = honest(field, shape, primes, bits, rng)
        return (
            field.reduced(found + field.of(1 << 31 + 41)[:, None])
            if (primes, shape) == (1, (size,))
            else found
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Residues, "random_below", large)
        protocols = {
            j: module.divided(holder, each, 5, 1, "one")
            for (j, holder), each in zip(
                holders(2, 4).items(), shared(np.array([9], object), 2, 4).values(), strict=True
            )
        }
        found = together(protocols)
    shift = FIELD.centred(opened(FIELD, found, 1, 1)[0]).item()
    assert 2**41 < shift < 2 ** error_bits(size, 2)


def test_few_members_and_small_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="6 members detect 1 liars in products of shares, not 2: use 7"):
        Shareholder(1, 3, 6, FIELD, b"", SeededRng(b""))
    with pytest.raises(ValueError, match="a threshold from 2"):
        Shareholder(1, 1, 4, FIELD, b"", SeededRng(b""))
    local = shared(LEFT, 2, 4)[1]
    most = next(bits for bits in range(300) if FIELD.modulus >> divided_bits(4, 2, bits) == 0)
    with pytest.raises(ValueError, match="use more primes"):
        next(divided(holders(2, 4)[1], local, most, 1, "p"))
    next(divided(holders(2, 4)[1], local, most - 1, 1, "p"))


def test_traffic_is_counted() -> None:
    shares = shared(LEFT, 2, 4)
    traffic = Traffic()
    together({j: open_sums(holder, shares[j], 1) for j, holder in holders(2, 4).items()}, traffic)
    assert traffic.rounds == 1
    assert traffic.sent == dict.fromkeys(range(1, 5), 3 * 4 * FIELD.count * 4)
