# SPDX-License-Identifier: Apache-2.0
"""Key generation without some members: the others keep their indices, and nobody has the missing shares."""

from __future__ import annotations

from itertools import combinations

import pytest

from blockful_py.crypto import chameleon
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.errors import CheaterError
from tests.crypto.committee import collide_together


def generated(threshold: int, size: int, dealers: tuple[int, ...]) -> tuple[KeyShare, ...]:
    parts = [Participant(i, threshold, size, b"dealers", SeededRng(b"dealer", i), dealers) for i in dealers]
    commitments = [part.commit() for part in parts]
    reveals = [part.reveal(commitments) for part in parts]
    shares = [share for part in parts for share in part.deal(reveals)]
    assert {share.recipient for share in shares} <= {*dealers}
    assert not [complaint for part in parts for complaint in part.receive(shares)]
    assert not [answer for part in parts for answer in part.answer([])]
    confirmations = [part.confirm([]) for part in parts]
    return tuple(part.finish(confirmations) for part in parts)


@pytest.mark.parametrize(
    ("threshold", "size", "dealers"),
    [(3, 4, (1, 3, 4)), (3, 4, (2, 3, 4)), (2, 4, (2, 4)), (1, 3, (3,)), (5, 7, (1, 2, 4, 5, 6, 7))],
)
def test_any_t_dealers_make_a_collision(threshold: int, size: int, dealers: tuple[int, ...]) -> None:
    shares = generated(threshold, size, dealers)
    assert [share.index for share in shares] == list(dealers)
    assert {share.public for share in shares} == {shares[0].public}
    key = shares[0].public
    assert (key.size, len(key.verification_shares)) == (size, size)
    h, _ = chameleon.hash_message(key.group_key, bytes(32), bytes(32))
    task = Task(bytes(32), bytes([1]) * 32, h)
    for number, chosen in enumerate(combinations(shares, threshold)):
        signers = [ThresholdSigner(share) for share in chosen]
        (opening,) = collide_together(key, signers, b"session %d" % number, [task])
        assert chameleon.verify(key.group_key, task.label, task.message, h, opening)


def test_a_dealer_that_is_missing_is_named_by_its_own_index() -> None:
    parts = [Participant(i, 2, 4, b"dealers", SeededRng(b"dealer", i), (1, 3, 4)) for i in (1, 3, 4)]
    commitments = [part.commit() for part in parts]
    with pytest.raises(CheaterError, match=r"member\(s\) 4 "):
        parts[0].reveal(commitments[:2])


@pytest.mark.parametrize("dealers", [(1, 2), (1, 3, 5), (1, 3, 4), (0, 1, 2, 3)])
def test_dealers_that_do_not_fit(dealers: tuple[int, ...]) -> None:
    """Too few, beyond the committee, without the member itself, below 1."""
    with pytest.raises(ValueError, match="dealers"):
        Participant(2, 3, 4, b"dealers", SeededRng(b"dealer"), dealers)
