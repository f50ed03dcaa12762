# SPDX-License-Identifier: Apache-2.0
"""Arrived blocks are bounded by sender, go with time, and pass to the store whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from blockful_py.errors import BlockNotFoundError, StorageError
from blockful_py.storage import ContentStore, cid_string, uri_of
from blockful_py.storage.arrivals import LEAST, Arrivals
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN

NOW = 10_000.0
SMALL, LARGE = b"small", bytes(4 * LEAST)


def uri(block: bytes) -> Uri:
    return uri_of(block, Codec.RAW)


def aged(arrivals: Arrivals, folder: Path, block: bytes, seconds: float) -> None:
    for path in folder.rglob(cid_string(uri(block))):
        os.utime(path, (NOW - seconds, NOW - seconds))


@pytest.fixture
def arrivals(tmp_path: Path) -> Arrivals:
    return Arrivals(tmp_path / "arrivals", most=8 * LEAST, now=lambda: NOW)


def test_what_arrived_is_found_whoever_sent_it(arrivals: Arrivals) -> None:
    arrivals.put("a", uri(SMALL), SMALL)
    assert arrivals.get(uri(SMALL)) == SMALL
    assert arrivals.renew("a", uri(SMALL))
    assert not arrivals.renew("b", uri(SMALL))
    with pytest.raises(BlockNotFoundError, match="has not arrived"):
        arrivals.get(uri(LARGE))


def test_a_sender_has_its_bytes_and_no_more(arrivals: Arrivals) -> None:
    arrivals.put("a", uri(LARGE), LARGE)
    arrivals.put("a", uri(LARGE), LARGE)
    for number in range(4):
        arrivals.put("a", uri(bytes([number])), bytes([number]))
    assert arrivals.used() == {"a": 8 * LEAST}
    with pytest.raises(StorageError, match=f"a has {8 * LEAST} bytes of blocks here"):
        arrivals.put("a", uri(SMALL), SMALL)
    arrivals.put("b", uri(SMALL), SMALL)
    assert arrivals.used()["b"] == LEAST


def test_what_another_process_takes_away_makes_room(tmp_path: Path, arrivals: Arrivals) -> None:
    other = Arrivals(tmp_path / "arrivals", most=8 * LEAST)
    arrivals.put("a", uri(LARGE), LARGE)
    arrivals.put("a", uri(LARGE + b"x"), LARGE[:-1] + b"x")
    other.make_room("a", 8 * LEAST)
    assert other.used() == {"a": 0}
    arrivals.put("a", uri(SMALL), SMALL)


def test_room_is_made_by_the_oldest(tmp_path: Path, arrivals: Arrivals) -> None:
    for number in range(8):
        arrivals.put("a", uri(bytes([number])), bytes([number]))
        aged(arrivals, tmp_path, bytes([number]), 100 - number)
    arrivals.make_room("a", 3 * LEAST)
    assert [arrivals.renew("a", uri(bytes([number]))) for number in range(8)] == [False] * 3 + [True] * 5


def test_what_is_old_goes_and_what_was_asked_for_again_stays(tmp_path: Path, arrivals: Arrivals) -> None:
    later = Arrivals(tmp_path / "arrivals")
    for block in (SMALL, LARGE):
        later.put("a", uri(block), block)
        aged(arrivals, tmp_path, block, 3601)
    assert later.renew("a", uri(LARGE))
    leftover = tmp_path / "arrivals" / "a" / "tmp" / "half.tmp"
    leftover.write_bytes(b"half")
    os.utime(leftover, (0, 0))
    assert arrivals.expire(3600) == 1
    assert not leftover.exists()
    assert not later.renew("a", uri(SMALL))
    assert later.get(uri(LARGE)) == LARGE


def test_a_block_is_checked_whenever_it_is_read(tmp_path: Path, arrivals: Arrivals) -> None:
    arrivals.put("a", uri(SMALL), SMALL)
    (path,) = tmp_path.rglob(cid_string(uri(SMALL)))
    path.write_bytes(b"other")
    with pytest.raises(BlockNotFoundError):
        arrivals.get(uri(SMALL))
    arrivals.put("b", uri(SMALL), SMALL)
    assert arrivals.get(uri(SMALL)) == SMALL
    arrivals.put("a", uri(SMALL), SMALL)
    assert path.read_bytes() == SMALL


def test_a_file_is_adopted_with_its_blocks(tmp_path: Path, store: ContentStore) -> None:
    source, arrivals = ContentStore(tmp_path / "source"), Arrivals(store.directory / "arrivals")
    root = source.add(PATTERN * 2 + b"end")
    blocks = list(blocks_of(root, source.block))
    for number, each in enumerate(blocks):
        arrivals.put("ab"[number % 2], each, source.block(each))
    with pytest.raises(BlockNotFoundError):
        store.adopt(uri(b"lacking"), [*blocks, uri(b"lacking")], arrivals)
    assert list(store) == []
    store.adopt(root, blocks, arrivals)
    assert list(store) == [root]
    assert store.read(root, ANY_SIZE) == PATTERN * 2 + b"end"
    assert arrivals.used() == {"a": 0, "b": 0}
    assert store.size(root) == len(PATTERN) * 2 + 3
