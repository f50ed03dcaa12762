# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.curve import G, N
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import KeyShare, lagrange
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.crypto.threshold.messages import Answer, Complaint, Reveal
from blockful_py.errors import CheaterError, CryptoError
from blockful_py.types import Point
from tests.crypto.committee import Ceremony


def interpolated(shares: Sequence[KeyShare]) -> int:
    """f(0) of the polynomial through the shares."""
    signers = [share.index for share in shares]
    return sum(lagrange(signers, share.index) * share.secret for share in shares) % N


@pytest.mark.parametrize(("threshold", "size"), [(1, 1), (1, 3), (2, 3), (3, 4), (4, 4)])
def test_every_t_shares_give_the_key_and_fewer_do_not(threshold: int, size: int) -> None:
    shares = Ceremony(threshold, size).run()
    key = shares[0].group_key
    assert [share.index for share in shares] == list(range(1, size + 1))
    assert len({(share.group_key, share.verification_shares) for share in shares}) == 1
    for share in shares:
        assert curve.multiply_base(share.secret) == share.verification_shares[share.index - 1]
    for chosen in combinations(shares, threshold):
        secret = interpolated(chosen)
        assert curve.multiply_base(secret) == key
    for chosen in combinations(shares, threshold - 1):
        secret = interpolated(chosen)
        assert secret == 0 or curve.multiply_base(secret) != key


def test_keys_differ_by_the_members_randomness() -> None:
    assert Ceremony(2, 3, b"a").run()[0].group_key != Ceremony(2, 3, b"b").run()[0].group_key
    assert generate_key(2, 3, b"x")[0].group_key != generate_key(2, 3, b"x")[0].group_key


def test_a_generator_that_repeats_itself_gives_other_secrets_for_another_key() -> None:
    """Otherwise two proofs with one nonce would give the dealer's secret: a_0 = (mu - mu') / (c - c')."""
    first, second = (Participant(1, 2, 3, context, bytes)._reveal for context in (b"one", b"other"))
    assert not {*first.commitments, first.proof_point} & {*second.commitments, second.proof_point}


def named(step: Callable[[], object]) -> tuple[int, ...]:
    with pytest.raises(CheaterError) as caught:
        step()
    return caught.value.members


def test_missing_messages_are_named() -> None:
    ceremony = Ceremony(2, 4)
    del ceremony.commitments[2]
    assert named(ceremony.reveal) == (3,)
    ceremony = Ceremony(2, 4)
    ceremony.reveal()
    del ceremony.reveals[1], ceremony.reveals[0]
    assert named(ceremony.deal) == (1, 2)


def other_polynomial(given: Reveal) -> Reveal:
    return replace(given, commitments=(given.commitments[0], curve.add(given.commitments[1], G)))


def longer_polynomial(given: Reveal) -> Reveal:
    return replace(given, commitments=(*given.commitments, G))


def off_curve(given: Reveal) -> Reveal:
    return replace(given, commitments=(given.commitments[0], Point(1, 1)))


def huge(given: Reveal) -> Reveal:
    return replace(given, commitments=(Point(2**256, 1), given.commitments[1]))


def wrong_proof(given: Reveal) -> Reveal:
    return replace(given, proof_scalar=given.proof_scalar + 1)


@pytest.mark.parametrize("damage", [other_polynomial, longer_polynomial, off_curve, huge, wrong_proof])
def test_a_reveal_that_was_not_committed_to_is_named(damage: Callable[[Reveal], Reveal]) -> None:
    ceremony = Ceremony(2, 3)
    ceremony.reveal()
    ceremony.reveals[1] = damage(ceremony.reveals[1])
    assert named(ceremony.deal) == (2,)


class Adversary(Participant):
    """Shows `shown` in the place of its honest reveal, and commits to it."""

    def show(self, shown: Reveal) -> None:
        self._reveal = shown

    @property
    def honest(self) -> Reveal:
        return self._reveal


def run_with_adversary(change: Callable[[Reveal], Reveal]) -> Callable[[], object]:
    ceremony = Ceremony(2, 3)
    adversary = Adversary(2, 2, 3, b"test")
    adversary.show(change(adversary.honest))
    ceremony.members[1] = adversary
    ceremony.commitments[1] = adversary.commit()
    ceremony.reveal()
    return ceremony.deal


@pytest.mark.parametrize("change", [longer_polynomial, off_curve, wrong_proof])
def test_a_bad_reveal_is_named_even_when_it_was_committed_to(change: Callable[[Reveal], Reveal]) -> None:
    assert named(run_with_adversary(change)) == (2,)


def test_a_rogue_key_has_no_proof_of_possession() -> None:
    # A_0 = T - (sum of the others' A_0) would make the group key T.
    def rogue(given: Reveal) -> Reveal:
        return replace(given, commitments=(curve.negate(given.commitments[0]), *given.commitments[1:]))

    assert named(run_with_adversary(rogue)) == (2,)


def test_anothers_proof_is_not_ones_own() -> None:
    ceremony = Ceremony(2, 3)
    ceremony.reveal()
    ceremony.reveals[1] = replace(ceremony.reveals[0], dealer=2)
    assert named(ceremony.deal) == (2,)
    copied = ceremony.reveals[0]
    assert named(run_with_adversary(lambda _: replace(copied, dealer=2))) == (2,)


def upto_receive(damaged: tuple[int, ...] = (2,)) -> Ceremony:
    """Member 1 deals wrong shares to `damaged`."""
    ceremony = Ceremony(2, 4)
    ceremony.reveal()
    ceremony.deal()
    ceremony.shares = [
        replace(share, value=share.value % (N - 1) + 1)
        if share.dealer == 1 and share.recipient in damaged
        else share
        for share in ceremony.shares
    ]
    ceremony.receive()
    return ceremony


def test_a_wrong_share_is_complained_about_and_settled_by_the_answer() -> None:
    ceremony = upto_receive()
    assert ceremony.complaints == [Complaint(2, 1)]
    ceremony.answer()
    assert [(one.dealer, one.accuser) for one in ceremony.answers] == [(1, 2)]
    ceremony.confirm()
    shares = ceremony.finish()
    assert shares == Ceremony(2, 4).run()


def test_a_missing_share_is_complained_about() -> None:
    ceremony = Ceremony(2, 4)
    ceremony.reveal()
    ceremony.deal()
    ceremony.shares = [share for share in ceremony.shares if (share.dealer, share.recipient) != (3, 4)]
    ceremony.receive()
    assert ceremony.complaints == [Complaint(4, 3)]


@pytest.mark.parametrize("change", [lambda one: [], lambda one: [replace(one, value=one.value ^ 1)]])
def test_no_answer_and_a_wrong_answer_are_named(change: Callable[[Answer], list[Answer]]) -> None:
    ceremony = upto_receive()
    ceremony.answer()
    ceremony.answers = change(ceremony.answers[0])
    assert named(ceremony.confirm) == (1,)


def test_t_accusers_disqualify_the_dealer_before_it_shows_more_shares() -> None:
    assert named(upto_receive((2, 3)).answer) == (1,)


def test_a_false_complaint_does_not_stop_the_others() -> None:
    ceremony = Ceremony(2, 4)
    ceremony.reveal()
    ceremony.deal()
    ceremony.receive()
    ceremony.complaints = [Complaint(2, 1), Complaint(2, 1), Complaint(9, 1), Complaint(2, 9)]
    ceremony.answer()
    assert [(one.dealer, one.accuser) for one in ceremony.answers] == [(1, 2)]
    ceremony.confirm()
    assert ceremony.finish() == Ceremony(2, 4).run()


def test_members_who_saw_different_broadcasts_notice() -> None:
    ceremony = Ceremony(2, 3)
    ceremony.reveal()
    ceremony.deal()
    ceremony.receive()
    ceremony.answer()
    ceremony.confirm()
    ceremony.confirmations[2] = replace(ceremony.confirmations[2], transcript=bytes(32))
    with pytest.raises(CryptoError, match=r"members \[3\] saw other broadcasts than member 1"):
        ceremony.finish()


def test_two_versions_of_a_reveal_end_in_different_transcripts() -> None:
    ceremony, twin = Ceremony(2, 3), Ceremony(2, 3, b"other")
    ceremony.reveal()
    twin.reveal()
    # Member 3 sees another commitment and another, valid reveal of member 2.
    view = [ceremony.commitments[0], twin.commitments[1], ceremony.commitments[2]]
    deceived = Ceremony(2, 3)
    deceived.members[2].reveal(view)
    ceremony.members[2] = deceived.members[2]
    reveals = [ceremony.reveals[0], twin.reveals[1], ceremony.reveals[2]]
    shares = [*ceremony.members[0].deal(ceremony.reveals), *ceremony.members[1].deal(ceremony.reveals)]
    shares += ceremony.members[2].deal(reveals)
    twins = [member.deal(twin.reveals) for member in twin.members]
    shares = [share for share in shares if (share.dealer, share.recipient) != (2, 3)]
    shares += [share for share in twins[1] if share.recipient == 3]
    ceremony.shares = shares
    ceremony.receive()
    assert ceremony.complaints == []
    ceremony.answer()
    ceremony.confirm()
    with pytest.raises(CryptoError, match="saw other broadcasts"):
        ceremony.finish()


def test_steps_run_once_and_in_order() -> None:
    member = Participant(1, 1, 1, b"test")
    with pytest.raises(CryptoError, match="is to commit, not to reveal"):
        member.reveal([])
    member.commit()
    with pytest.raises(CryptoError, match="is to reveal, not to commit"):
        member.commit()


@pytest.mark.parametrize(("index", "threshold", "size"), [(0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1)])
def test_numbers_out_of_range(index: int, threshold: int, size: int) -> None:
    with pytest.raises(ValueError, match="threshold"):
        Participant(index, threshold, size, b"test")


def test_weights_refuse_repeated_and_zero_indices() -> None:
    for signers in ([1, 1], [0, 1]):
        with pytest.raises(ValueError, match="distinct"):
            lagrange(signers, 1)


def test_secrets_do_not_show() -> None:
    ceremony = Ceremony(2, 3)
    ceremony.reveal()
    ceremony.deal()
    value = ceremony.shares[0].value
    assert str(value) not in repr(ceremony.shares[0])
    assert repr(ceremony.members[0]) == "Participant(1 of 3, threshold 2, RECEIVE)"
