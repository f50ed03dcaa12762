# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import KeyShare, lagrange
from blockful_py.crypto.threshold.messages import NonceCommitments, SignatureShares
from blockful_py.crypto.threshold.nonces import draw
from blockful_py.crypto.threshold.signing import DST_RHO, SESSIONS, ThresholdSigner, aggregate, combine
from blockful_py.errors import CheaterError, CryptoError, NonceReuseError, QuorumError
from blockful_py.types import Opening, Point
from tests.crypto.committee import Batch, Ceremony, begin, collide_together, tasks_for

CONTEXT = keccak(bytes(32) + b"session")
"""Context of the nonces in the session that `begin` begins."""


@pytest.fixture(scope="module")
def shares() -> tuple[KeyShare, ...]:
    return Ceremony(3, 5).run()


def holds(batch: Batch, openings: tuple[Opening, ...]) -> bool:
    return len(openings) == len(batch.tasks) and all(
        chameleon.verify(batch.key.group_key, task.label, task.message, task.h, opening)
        for task, opening in zip(batch.tasks, openings, strict=True)
    )


@pytest.mark.parametrize("members", [(1, 2, 3), (2, 4, 5), (1, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_t_members_or_more_open_a_batch(shares: tuple[KeyShare, ...], members: tuple[int, ...]) -> None:
    batch = begin(shares, members, count=6)
    openings = combine(batch.key, batch.tasks, batch.commitments, batch.nonces, batch.answers())
    assert holds(batch, openings)
    assert len({opening.px for opening in openings}) == 6


def test_both_signs_of_the_nonce_occur_and_hold(shares: tuple[KeyShare, ...]) -> None:
    key = shares[0].public
    signers = [ThresholdSigner(share, SeededRng(b"signs", share.index)) for share in shares[:3]]
    tasks = tasks_for(key, 16)
    openings = collide_together(key, signers, b"signs", tasks)
    assert len(openings) == 16


def one_by_one(batch: Batch, item: int, secret: int) -> Opening:
    """The collision of one message, by the trapdoor and the sum of the secret nonces (the slow way)."""
    task = batch.tasks[item]
    drawn = [
        draw(batch.shares[index - 1].secret, CONTEXT, len(batch.tasks), SeededRng(b"signer", index))
        for index in batch.nonces.signers
    ]
    d, e = (sum(pairs[item][which] for pairs in drawn) % N for which in (0, 1))
    D, E = batch.nonces.pairs[item]
    assert (curve.multiply_base(d), curve.multiply_base(e)) == (D, E)
    signers = keccak(b"".join(i.to_bytes(4, "big") for i in batch.nonces.signers))
    points = curve.compress(D) + curve.compress(E)
    bound = (DST_RHO, batch.key.key_id, signers, points, task.label, task.message, task.h.to_bytes(32, "big"))
    k = (d + int.from_bytes(keccak(b"".join(bound)), "big") * e) % N
    point = curve.multiply_base(k)
    c = chameleon.challenge(batch.key.key_id, task.label, task.message, (task.h + chameleon.phi(point.x)) % N)
    return Opening(point.x, (c * (N - k if point.y & 1 else k) + secret) % N)


@pytest.mark.parametrize(
    ("threshold", "size", "members", "count"),
    [
        (1, 1, (1,), 1),
        (1, 3, (2,), 3),
        (2, 2, (1, 2), 1),
        (3, 5, (1, 3, 4, 5), 4),
        (5, 7, (2, 3, 4, 6, 7), 2),
    ],
)
def test_a_batch_equals_its_messages_one_by_one_by_the_trapdoor(
    threshold: int, size: int, members: tuple[int, ...], count: int
) -> None:
    batch = begin(Ceremony(threshold, size).run(), members, count)
    openings = combine(batch.key, batch.tasks, batch.commitments, batch.nonces, batch.answers())
    chosen = [batch.shares[index - 1] for index in members]
    secret = sum(lagrange(members, share.index) * share.secret for share in chosen) % N
    assert openings == tuple(one_by_one(batch, item, secret) for item in range(count))


@pytest.mark.parametrize("item", [0, 3, 6])
def test_a_wrong_share_is_named_wherever_it_stands_in_the_batch(
    shares: tuple[KeyShare, ...], item: int
) -> None:
    batch = begin(shares, (1, 3, 5), count=7)
    first, second, third = batch.answers()
    values = (*second.values[:item], second.values[item] ^ 1, *second.values[item + 1 :])
    with pytest.raises(CheaterError) as caught:
        combine(
            batch.key,
            batch.tasks,
            batch.commitments,
            batch.nonces,
            [first, replace(second, values=values), third],
        )
    assert caught.value.members == (3,)


def test_fewer_than_t_are_refused_by_coordinator_and_signer(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(QuorumError, match="3 signers are needed, 2"):
        aggregate(batch.key, batch.commitments[:2])
    with pytest.raises(QuorumError):
        batch.signers[0].sign(batch.tasks, replace(batch.nonces, signers=(1, 2)))


def test_a_refused_request_does_not_cost_the_nonces(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(QuorumError):
        batch.signers[0].sign(batch.tasks, replace(batch.nonces, signers=(1, 2)))
    assert holds(batch, combine(batch.key, batch.tasks, batch.commitments, batch.nonces, batch.answers()))


@pytest.mark.parametrize("signers", [(2, 1, 3), (1, 1, 2), (1, 2, 6), (0, 1, 2), (2, 3, 4)])
def test_a_signer_refuses_a_wrong_list_of_signers(
    shares: tuple[KeyShare, ...], signers: tuple[int, ...]
) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(CryptoError, match="signer"):
        batch.signers[0].sign(batch.tasks, replace(batch.nonces, signers=signers))


def test_nonces_are_used_once(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    batch.answers()
    with pytest.raises(NonceReuseError, match="these nonces are used"):
        batch.signers[0].sign(batch.tasks, batch.nonces)


def test_nonces_are_gone_even_when_signing_fails_half_way(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    broken = [*batch.tasks[:2], replace(batch.tasks[2], h=N)]
    with pytest.raises(CryptoError, match="below the group order"):
        batch.signers[0].sign(broken, batch.nonces)
    with pytest.raises(NonceReuseError):
        batch.signers[0].sign(batch.tasks, batch.nonces)


def test_a_session_begins_once_and_an_unknown_one_is_refused(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(NonceReuseError, match="has begun"):
        batch.signers[0].commit(b"session", 1)
    with pytest.raises(NonceReuseError):
        batch.signers[0].sign(batch.tasks, replace(batch.nonces, session=b"another"))


def test_nonces_are_of_the_leader_that_asked_for_them(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(NonceReuseError, match="of another leader"):
        batch.signers[0].sign(batch.tasks, batch.nonces, leader=b"\1" * 20)
    assert batch.signers[0].sign(batch.tasks, batch.nonces).values


def test_a_leader_keeps_its_newest_sessions(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    signer = batch.signers[0]
    for number in range(2000):
        signer.commit(b"%d" % number, 1, leader=b"\1" * 20)
    assert len(signer.nonces) == 3 + SESSIONS
    assert signer.sign(batch.tasks, batch.nonces).values


def test_more_or_fewer_tasks_than_committed_are_refused(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 2, 3))
    with pytest.raises(CryptoError, match="committed to 3"):
        batch.signers[0].sign(batch.tasks[:2], replace(batch.nonces, pairs=batch.nonces.pairs[:2]))
    with pytest.raises(ValueError, match="one message or more"):
        batch.signers[0].commit(b"empty", 0)


def test_nonces_of_a_weak_generator_differ_by_signer_session_generation_and_message(
    shares: tuple[KeyShare, ...],
) -> None:
    commitments = [
        ThresholdSigner(share, bytes).commit(session, 2, generation)
        for share in shares[:2]
        for session in (b"a", b"b")
        for generation in (1, 2)
    ]
    points = [point for given in commitments for pair in given.pairs for point in pair]
    assert len(set(points)) == len(points) == 32


def test_nonces_are_drawn_for_a_context_of_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        draw(1, b"session", 1, bytes)


def change_first(values: tuple[int, ...], change: Callable[[int], int]) -> tuple[int, ...]:
    return (change(values[0]), *values[1:])


@pytest.mark.parametrize("cheaters", [(1,), (3,), (1, 4), (1, 3, 4)])
@pytest.mark.parametrize(
    "change", [lambda z: z + 1, lambda z: 0, lambda z: N - z, lambda z: -1, lambda z: z + 2**256]
)
def test_wrong_shares_are_named(
    shares: tuple[KeyShare, ...], cheaters: tuple[int, ...], change: Callable[[int], int]
) -> None:
    batch = begin(shares, (1, 3, 4))
    given = [
        replace(one, values=change_first(one.values, change)) if one.signer in cheaters else one
        for one in batch.answers()
    ]
    with pytest.raises(CheaterError) as caught:
        combine(batch.key, batch.tasks, batch.commitments, batch.nonces, given)
    assert caught.value.members == cheaters


def missing(one: SignatureShares) -> list[SignatureShares]:
    return []


def cut_short(one: SignatureShares) -> list[SignatureShares]:
    return [replace(one, values=one.values[:-1])]


def of_another_session(one: SignatureShares) -> list[SignatureShares]:
    return [replace(one, session=b"another")]


@pytest.mark.parametrize("damage", [missing, cut_short, of_another_session])
def test_missing_and_incomplete_shares_are_named(
    shares: tuple[KeyShare, ...], damage: Callable[[SignatureShares], list[SignatureShares]]
) -> None:
    batch = begin(shares, (1, 3, 4))
    first, second, third = batch.answers()
    with pytest.raises(CheaterError) as caught:
        combine(batch.key, batch.tasks, batch.commitments, batch.nonces, [first, *damage(second), third])
    assert caught.value.members == (3,)


def off_curve(given: NonceCommitments) -> NonceCommitments:
    return replace(given, pairs=((Point(1, 1), given.pairs[0][1]), *given.pairs[1:]))


def shorter(given: NonceCommitments) -> NonceCommitments:
    return replace(given, pairs=given.pairs[1:])


def foreign(given: NonceCommitments) -> NonceCommitments:
    return replace(given, session=b"another")


@pytest.mark.parametrize("damage", [off_curve, shorter, foreign])
def test_wrong_nonce_commitments_are_named(
    shares: tuple[KeyShare, ...], damage: Callable[[NonceCommitments], NonceCommitments]
) -> None:
    batch = begin(shares, (1, 3, 4))
    with pytest.raises(CheaterError) as caught:
        aggregate(batch.key, [batch.commitments[0], damage(batch.commitments[1]), batch.commitments[2]])
    assert caught.value.members == (3,)


def test_one_who_cancels_the_others_nonces_is_named(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 3, 4))
    first, second, third = batch.commitments
    d = curve.negate(curve.add(first.pairs[0][0], second.pairs[0][0]))
    rushing = [first, second, replace(third, pairs=((d, third.pairs[0][1]), *third.pairs[1:]))]
    nonces = aggregate(batch.key, rushing)
    answers = [signer.sign(batch.tasks, nonces) for signer in batch.signers]
    with pytest.raises(CheaterError) as caught:
        combine(batch.key, batch.tasks, rushing, nonces, answers)
    assert caught.value.members == (4,)


def test_a_signer_who_is_asked_for_another_message_spoils_no_other(shares: tuple[KeyShare, ...]) -> None:
    batch = begin(shares, (1, 3, 4))
    other = tasks_for(batch.key, 3, b"other")
    answers = [signer.sign(batch.tasks, batch.nonces) for signer in batch.signers[:2]]
    answers.append(batch.signers[2].sign(other, batch.nonces))
    with pytest.raises(CheaterError) as caught:
        combine(batch.key, batch.tasks, batch.commitments, batch.nonces, answers)
    assert caught.value.members == (4,)


def test_secrets_do_not_show(shares: tuple[KeyShare, ...]) -> None:
    secret = shares[0].secret
    signer = ThresholdSigner(shares[0], SeededRng(b"x"))
    signer.commit(b"s", 1)
    shown = " ".join(map(repr, (shares[0], signer, signer.nonces, shares[0].public)))
    assert str(secret) not in shown and f"{secret:x}" not in shown


def test_the_same_seeds_give_the_same_openings() -> None:
    def run(seed: bytes) -> tuple[Opening, ...]:
        made = Ceremony(2, 3, seed).run()
        signers = [ThresholdSigner(share, SeededRng(seed, share.index)) for share in made[:2]]
        return collide_together(made[0].public, signers, b"s", tasks_for(made[0].public, 2))

    assert run(b"a") == run(b"a")
    assert run(b"a") != run(b"b")
