# SPDX-License-Identifier: Apache-2.0
"""Suspects when members refuse to attest nonces, and a leader's next attempts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from blockful_py.committee.disputes import MAX_TRIALS, Trials, settle
from blockful_py.committee.polling import Refusal
from blockful_py.errors import CheaterError, DisputedError, QuorumError, RefusedError

SILENT = Refusal(RefusedError("says nothing"))


def accuses(*members: int) -> Refusal:
    return Refusal(CheaterError(members, "a pledge"))


def suspects(replies: Mapping[int, object], signers: tuple[int, ...], faulty: int) -> set[frozenset[int]]:
    error = settle(replies, signers, faulty, "too few. ")
    assert isinstance(error, DisputedError)
    return {*error.suspects}


def test_whom_more_members_accuse_than_may_be_faulty_is_named() -> None:
    replies = {1: SILENT, 2: accuses(1), 3: accuses(1), 4: b"attested"}
    with pytest.raises(CheaterError) as caught:
        settle(replies, (1, 2, 3, 4), 1, "")
    assert caught.value.members == (1,)


def test_of_two_who_accuse_each_other_either_may_lie() -> None:
    replies = {1: accuses(4), 2: b"attested", 3: b"attested", 4: accuses(1)}
    assert suspects(replies, (1, 2, 3, 4), 1) == {frozenset({1}), frozenset({4})}


def test_who_says_nothing_is_one_of_the_faulty() -> None:
    replies = {1: SILENT, 2: accuses(1), 3: b"attested", 4: b"attested"}
    assert suspects(replies, (1, 2, 3), 1) == {frozenset({1})}
    assert suspects({1: SILENT, 2: accuses(3)}, (1, 2, 3), 1) == set()


def test_two_liars_of_seven_are_among_the_suspects() -> None:
    replies = {1: accuses(6, 7), 2: accuses(6), 6: accuses(1, 2, 3), 7: accuses(3)}
    assert frozenset({6, 7}) in suspects(replies, tuple(range(1, 8)), 2)


def test_a_liar_may_accuse_without_being_a_signer() -> None:
    replies = {1: SILENT, 2: accuses(1), 5: accuses(1), 6: accuses(3)}
    assert frozenset({1}) in suspects(replies, (1, 2, 3, 4, 5, 7), 2)


def test_who_is_no_signer_is_no_suspect() -> None:
    assert suspects({2: accuses(0, 4, 9), 1: SILENT}, (1, 2, 3), 1) == set()


def test_every_set_is_tried_once_and_then_the_error_stands() -> None:
    trials, error = Trials(), DisputedError("too few", (frozenset({1}), frozenset({4})))
    assert [trials.after(error), trials.after(error)] == [frozenset({1}), frozenset({4})]
    with pytest.raises(DisputedError, match="too few"):
        trials.after(error)
    with pytest.raises(QuorumError, match="others"):
        Trials().after(QuorumError("others"))


def test_trials_are_bounded() -> None:
    trials = Trials()
    many = [frozenset({number}) for number in range(2 * MAX_TRIALS)]
    for _ in range(MAX_TRIALS):
        trials.after(DisputedError("too few", many))
    with pytest.raises(DisputedError):
        trials.after(DisputedError("too few", many))
