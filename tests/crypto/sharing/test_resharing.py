# SPDX-License-Identifier: Apache-2.0
"""Shares handed on open to the same numbers and do not fit the old ones; members that cheat are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.resharing import Circle, HandingOn
from blockful_py.crypto.sharing.residues import Array, Residues
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent, together
from blockful_py.crypto.sharing.shamir import evaluate, interpolate, opened, polynomial
from blockful_py.errors import CheaterError, CryptoError

FIELD = Residues(3)
THRESHOLD, SIZE = 2, 4
SECRET = FIELD.of(np.arange(6).reshape(2, 3) - 2)


def shares_of(secret: Array, seed: int = 0) -> dict[int, Array]:
    coefficients = polynomial(FIELD, secret, THRESHOLD - 1, SeededRng(b"owner", seed))
    return {j: evaluate(FIELD, coefficients, j) for j in range(1, SIZE + 1)}


def handed_on(
    shares: Mapping[int, Array],
    seed: int = 0,
    new: Circle | None = None,
    there: Iterable[int] = range(1, SIZE + 1),
) -> dict[int, Array]:
    """New shares, by index in the run: the old members have their places, and `new` the others."""
    old = Circle(THRESHOLD, SIZE, {j: j for j in shares})
    after = new or Circle(THRESHOLD, SIZE, {j: j for j in there})
    parties = {*old.places, *after.places}
    found = together(
        {
            j: HandingOn(j, old, after, FIELD, b"epoch 2", SeededRng(b"member", seed, j)).run(
                shares[j].reshape(FIELD.count, -1) if j in shares else None, 6
            )
            for j in parties
        }
    )
    assert len({name for _, name in found.values()}) == 1
    return {j: share.reshape(-1, 2, 3) for j, (share, _) in found.items() if share is not None}


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


def test_t_members_hand_on_and_fewer_cannot() -> None:
    old = shares_of(SECRET)
    new = handed_on({j: old[j] for j in (1, 2)})
    assert np.array_equal(opened(FIELD, new, THRESHOLD - 1, THRESHOLD - 1)[0], SECRET)
    with pytest.raises(CryptoError, match="1 members have old shares, 2 are needed"):
        handed_on({1: old[1]})


@pytest.mark.parametrize(("threshold", "size"), [(2, 4), (3, 7)])
def test_a_newcomer_takes_a_leavers_place_and_the_degree_changes(threshold: int, size: int) -> None:
    """Old members 2 to 4 stay, 1 leaves; the new committee is 2 to 4 and newcomers, in other places."""
    old = shares_of(SECRET)
    places = {j: size + 2 - j for j in range(2, size + 2)}
    new = handed_on(old, new=Circle(threshold, size, places))
    assert 1 not in new
    shares = {places[j]: share for j, share in new.items()}
    value, wrong = opened(FIELD, shares, threshold - 1, threshold - 1)
    assert np.array_equal(value, SECRET) and not wrong
    few = {place: shares[place] for place in [*shares][: threshold - 1]}
    assert not np.array_equal(interpolate(FIELD, few), SECRET)
    assert not np.array_equal(interpolate(FIELD, {**few, 1: old[1]}), SECRET)


def test_an_absent_newcomer_stops_nobody() -> None:
    new = handed_on(shares_of(SECRET), there=(1, 2, 4))
    assert np.array_equal(opened(FIELD, new, THRESHOLD - 1, 0)[0], SECRET)


@pytest.mark.parametrize("spoil", ["private", "public"])
def test_a_newcomer_that_lies_is_named(spoil: str) -> None:
    """It complains of right shares, which are shown, or tells wrong sums."""
    old, newcomer = shares_of(SECRET), 5
    circle, after = (
        Circle(THRESHOLD, SIZE, {j: j for j in old}),
        Circle(THRESHOLD, SIZE, {j: j - 1 for j in (2, 3, 4, 5)}),
    )

    def protocol(j: int) -> Protocol[tuple[Array | None, bytes]]:
        share = old[j].reshape(FIELD.count, -1) if j in old else None
        honest = HandingOn(j, circle, after, FIELD, b"epoch 2", SeededRng(b"member", j)).run(share, 6)
        return Newcomer(honest, spoil) if j == newcomer else honest  # type: ignore[return-value]

    run = {j: protocol(j) for j in range(1, 6)}
    if spoil == "private":
        found = {j - 1: share for j, (share, _) in together(run).items() if j > 1}
        value, wrong = opened(FIELD, found, THRESHOLD - 1, THRESHOLD - 1)  # type: ignore[arg-type]
        assert np.array_equal(value.reshape(-1, 2, 3), SECRET) and not wrong
        return
    with pytest.raises(CheaterError) as error:
        together(run)
    assert error.value.members == (newcomer,)


class Newcomer:
    """Complains of dealer 1 if `spoil` is private, else adds 1 to its sums."""

    def __init__(self, protocol: Protocol[tuple[Array | None, bytes]], spoil: str) -> None:
        self._protocol, self._spoil, self._sent = protocol, spoil, 0

    def __next__(self) -> Sent:
        return self.send(None)

    def send(self, inbox: Inbox | None) -> Sent:
        sent = self._protocol.send(inbox)  # type: ignore[arg-type]
        self._sent += 1
        if self._spoil == "private" and self._sent == 4:
            assert sent.public == ()
            return Sent((1,), sent.private)
        if self._spoil == "public" and isinstance(sent.public, np.ndarray):
            return Sent((sent.public + 1) % FIELD.primes(3), sent.private)
        return sent

    def close(self) -> None:
        self._protocol.close()
