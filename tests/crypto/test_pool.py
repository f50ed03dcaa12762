# SPDX-License-Identifier: Apache-2.0
"""Nonce pairs made ahead are handed out once, whatever becomes of the session, and die with their process."""

from __future__ import annotations

import os
import threading

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.local import collide_together
from blockful_py.crypto.threshold.messages import NonceCommitments
from blockful_py.crypto.threshold.pool import NoncePair, NoncePool
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.errors import NonceReuseError
from blockful_py.types import Point
from tests.crypto.committee import Ceremony, tasks_for


@pytest.fixture(scope="module")
def shares() -> tuple[KeyShare, ...]:
    return Ceremony(2, 3).run()


def prepared(share: KeyShare, count: int) -> ThresholdSigner:
    signer = ThresholdSigner(share, SeededRng(b"pool", share.index))
    signer.prepare(b"lot", count)
    return signer


def points(*given: NonceCommitments) -> list[Point]:
    return [point for each in given for pair in each.pairs for point in pair]


@pytest.mark.parametrize("ahead", [1, 4, 9], ids=["too few", "as many", "more"])
def test_a_batch_with_nonces_made_ahead_opens(shares: tuple[KeyShare, ...], ahead: int) -> None:
    signers = [prepared(share, ahead) for share in shares[:2]]
    assert len(collide_together(shares[0].public, signers, b"s", tasks_for(shares[0].public, 4))) == 4
    assert [len(signer.pool) for signer in signers] == [max(0, ahead - 4)] * 2


def test_every_pair_is_handed_out_once(shares: tuple[KeyShare, ...]) -> None:
    signer = prepared(shares[0], 5)
    signer.prepare(b"another lot", 3)
    given = [signer.commit(bytes([session]), 3) for session in range(4)]
    assert len(set(points(*given))) == len(points(*given)) == 24


def test_a_session_that_is_refused_gives_no_pair_back(shares: tuple[KeyShare, ...]) -> None:
    signer = prepared(shares[0], 6)
    first = signer.commit(b"s", 2)
    with pytest.raises(NonceReuseError, match="has begun"):
        signer.commit(b"s", 2)
    third = signer.commit(b"t", 2)
    assert not set(points(first)) & set(points(third))
    signer.nonces.discard(b"t")
    assert not set(points(first, third)) & set(points(signer.commit(b"u", 2)))


def test_lots_of_a_weak_generator_differ(shares: tuple[KeyShare, ...]) -> None:
    signers = [ThresholdSigner(share, bytes) for share in shares[:2]]
    for signer in signers:
        signer.prepare(b"a", 2)
        signer.prepare(b"b", 2)
    given = points(*(signer.commit(b"s", 4) for signer in signers))
    assert len(set(given)) == len(given) == 16


def test_threads_share_a_pool_without_sharing_a_pair(shares: tuple[KeyShare, ...]) -> None:
    pool, pair = NoncePool(), NoncePair((1, 2), (curve.G, curve.G))
    pool.add(NoncePair((number, number), pair.points) for number in range(4000))
    taken: list[list[NoncePair]] = [[] for _ in range(4)]

    def take(mine: list[NoncePair]) -> None:
        while found := pool.take(7):
            mine.extend(found)

    threads = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.secret[0] for mine in taken for each in mine) == list(range(4000))


def test_a_fork_finds_no_pair() -> None:
    pool = NoncePool()
    pool.add([NoncePair((1, 2), (curve.G, curve.G))])
    child = os.fork()
    if child == 0:
        os._exit(len(pool.take(1)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(pool.take(1)) == 1


def test_secrets_do_not_show(shares: tuple[KeyShare, ...]) -> None:
    (pair,) = prepared(shares[0], 1).pool.take(1)
    assert all(str(secret) not in repr(pair) for secret in pair.secret)
