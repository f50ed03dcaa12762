# SPDX-License-Identifier: Apache-2.0
"""A notebook keeps the first note until it is struck out, also when the process ends in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.outbox_store import Note, Notebook
from blockful_py.errors import MemoryLostError
from tests.committee.remember import BALLOT


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    with Notebook(tmp_path / "notes.sqlite") as notebook:
        yield notebook


def test_the_first_note_stands_until_it_is_struck_out(notebook: Notebook) -> None:
    assert [notebook.write("a", BALLOT, each) for each in (b"1", b"2")] == [b"1", b"1"]
    assert notebook.read("a") == (Note(BALLOT, 0, b"1"),)
    notebook.strike("a", BALLOT)
    assert notebook.read("a") == ()
    assert notebook.write("a", BALLOT, b"2") == b"2"


def test_topics_ballots_and_numbers_are_apart(notebook: Notebook) -> None:
    other = replace(BALLOT, epoch=BALLOT.epoch + 1)
    for topic, ballot, number in (("a", BALLOT, 0), ("a", BALLOT, 1), ("a", other, 0), ("b", BALLOT, 0)):
        assert notebook.write(topic, ballot, bytes([number]), number) == bytes([number])
    notebook.strike("a", BALLOT, 1)
    assert {(note.ballot, note.number) for note in notebook.read("a")} == {(BALLOT, 0), (other, 0)}


def test_notes_outlive_the_process_object(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    with Notebook(path) as notebook:
        notebook.write("a", BALLOT, b"1")
    with Notebook(path) as notebook:
        assert notebook.read("a") == (Note(BALLOT, 0, b"1"),)
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
        Notebook(path)
    assert path.read_bytes() == before
