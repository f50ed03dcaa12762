# SPDX-License-Identifier: Apache-2.0
"""An outbox keeps the first note until it is removed, even if the process ends in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.outbox_store import Note, OutboxStore
from blockful_py.errors import MemoryLostError
from tests.committee.remember import BALLOT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OutboxStore]:
    with OutboxStore(tmp_path / "notes.sqlite") as store:
        yield store


def test_the_first_note_stands_until_it_is_struck_out(store: OutboxStore) -> None:
    assert [store.write("a", BALLOT, each) for each in (b"1", b"2")] == [b"1", b"1"]
    assert store.read("a") == (Note(BALLOT, 0, b"1"),)
    store.strike("a", BALLOT)
    assert store.read("a") == ()
    assert store.write("a", BALLOT, b"2") == b"2"


def test_topics_ballots_and_numbers_are_apart(store: OutboxStore) -> None:
    other = replace(BALLOT, epoch=BALLOT.epoch + 1)
    for topic, ballot, number in (("a", BALLOT, 0), ("a", BALLOT, 1), ("a", other, 0), ("b", BALLOT, 0)):
        assert store.write(topic, ballot, bytes([number]), number) == bytes([number])
    store.strike("a", BALLOT, 1)
    assert {(note.ballot, note.number) for note in store.read("a")} == {(BALLOT, 0), (other, 0)}


def test_notes_outlive_the_process_object(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with OutboxStore(path) as store:
        store.write("a", BALLOT, b"1")
    with OutboxStore(path) as store:
        assert store.read("a") == (Note(BALLOT, 0, b"1"),)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"not a database" * 100, None], ids=["garbage", "other database"])
def test_another_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "notes.sqlite"
    if content is None:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE other (x)")
        connection.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(MemoryLostError, match="cannot be used"):
        OutboxStore(path)
    assert path.read_bytes() == before
