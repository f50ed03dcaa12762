# SPDX-License-Identifier: Apache-2.0
"""A store of nonces is bounded, and no leader's are dropped for one that has more."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto.threshold import nonces
from blockful_py.crypto.threshold.nonces import NonceStore
from blockful_py.errors import NonceReuseError

ROOM, MOST = 3, 12
ASKED = st.lists(st.tuples(st.sampled_from([bytes([n]) for n in range(6)]), st.integers(1, 20)), max_size=40)


def pairs(count: int) -> list[tuple[int, int]]:
    return [(item, item) for item in range(count)]


def is_there(store: NonceStore[int], leader: bytes, use: int) -> bool:
    try:
        return bool(store.take(leader, use))
    except NonceReuseError:
        return False


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonces, "MOST_PAIRS", MOST)


@given(ASKED)
def test_a_store_is_bounded_and_keeps_the_newest(asked: list[tuple[bytes, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nonces, "MOST_PAIRS", MOST)
        store = NonceStore[int](ROOM)
        for use, (leader, count) in enumerate(asked):
            store.put(leader, use, pairs(count))
            assert len(store) <= MOST + count
        left = [(leader, use) for use, (leader, _) in enumerate(asked) if is_there(store, leader, use)]
        assert asked == [] or left[-1] == (asked[-1][0], len(asked) - 1)
        assert all(times <= ROOM for times in Counter(leader for leader, _ in left).values())
        assert len(store) == 0


def test_a_leader_with_fewer_keeps_its_own() -> None:
    store = NonceStore[int](ROOM)
    store.put(b"honest", 0, pairs(3))
    for use in range(1, 100):
        store.put(b"greedy %d" % (use % 4), use, pairs(3 + use % 2))
    assert is_there(store, b"honest", 0)


def test_a_large_session_is_the_first_to_go() -> None:
    store = NonceStore[int](ROOM)
    store.put(b"honest", 0, pairs(MOST))
    store.put(b"greedy", 1, pairs(100 * MOST))
    store.put(b"other", 2, pairs(1))
    assert [is_there(store, *each) for each in ((b"honest", 0), (b"greedy", 1), (b"other", 2))] == [
        True,
        False,
        True,
    ]


def test_a_use_begins_once_and_ends_once() -> None:
    store = NonceStore[int](ROOM)
    store.put(b"a", 0, pairs(2))
    with pytest.raises(NonceReuseError, match="has begun"):
        store.put(b"a", 0, pairs(2))
    with pytest.raises(NonceReuseError, match="of another leader or use"):
        store.take(b"b", 0)
    assert store.take(b"a", 0) == pairs(2)
    with pytest.raises(NonceReuseError, match="are used"):
        store.take(b"a", 0)
