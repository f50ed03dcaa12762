# SPDX-License-Identifier: Apache-2.0
"""The index matches the events, reads each once, and notices another history."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.sources import LIVE
from tests.explorer.generated import GeneratedFederation


@pytest.fixture
def federation() -> GeneratedFederation:
    made = GeneratedFederation(users=5, references=2)
    made.publish(20)
    return made


def contents(path: Path) -> list[tuple[object, ...]]:
    """Everything in an index, apart from how often it changed."""
    with sqlite3.connect(path) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = [
            (name, *row)
            for name in sorted(names)
            if name != "counter"
            for row in connection.execute(f"SELECT * FROM {name}")  # noqa: S608
        ]
    connection.close()
    return sorted(rows, key=repr)


def test_it_has_every_model_with_its_references_and_name(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    path = tmp_path / "index"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    reader = IndexReader(path)
    rows = reader.rows("SELECT position, name, user FROM model ORDER BY row")
    assert [row["position"] for row in rows] == [each.packed for each in federation.positions]
    assert [row["name"] for row in rows] == [f"m{row}" for row in range(20)]
    assert [row["user"] for row in rows] == [row % 5 + 1 for row in range(20)]
    edges = {(row["model"], row["reference"]) for row in reader.rows("SELECT * FROM reference")}
    assert edges == {
        (federation.positions[row].packed, federation.positions[each].packed)
        for row, listed in enumerate(federation.references)
        for each in listed
    }


def test_a_request_is_found_at_all_models_that_it_replaced(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    replaced = federation.forget([0, 6])
    path = tmp_path / "index"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    reader = IndexReader(path)
    (request,) = reader.rows("SELECT key, paradigm FROM request")
    rows = reader.rows("SELECT position, version, ad_f FROM version WHERE request = ?", (request["key"],))
    assert {row["position"] for row in rows} == {federation.positions[row].packed for row in replaced}
    assert {(row["version"], row["ad_f"]) for row in rows} == {(1, 0.0)}
    current = reader.rows("SELECT position FROM model WHERE version = 1")
    assert {row["position"] for row in current} == {federation.positions[row].packed for row in replaced}


def test_references_that_owners_chose_again_join_those_on_the_chain(
    federation: GeneratedFederation, tmp_path: Path
) -> None:
    """A later model can be no reference, whatever a node says."""
    row = 15
    new, later = (each for each in (next(set_aside(federation, row)), 19))
    for each in (new, later):
        federation.choose(row, each)
    federation.forget([row])
    path = tmp_path / "index"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    edges = IndexReader(path).rows(
        "SELECT reference FROM reference WHERE model = ?", (federation.positions[row].packed,)
    )
    assert {edge["reference"] for edge in edges} == {
        federation.positions[each].packed for each in (*federation.references[row], new)
    }


def set_aside(federation: GeneratedFederation, row: int) -> Iterator[int]:
    """Models of earlier blocks that a model does not refer to."""
    height = federation.positions[row].height
    for each, place in enumerate(federation.positions):
        if place.height < height and each not in federation.references[row]:
            yield each


def test_following_reads_only_what_is_new(federation: GeneratedFederation, tmp_path: Path) -> None:
    path = tmp_path / "index"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
        assert index.follow() == 0
        reads, receipts = federation.reads, federation.receipts[LIVE].asked
        federation.publish(5)
        index.follow()
    assert federation.reads == reads + 5
    assert federation.receipts[LIVE].asked == receipts + 1


def test_an_index_is_gone_on_with(federation: GeneratedFederation, tmp_path: Path) -> None:
    path, whole = tmp_path / "index", tmp_path / "whole"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    reads = federation.reads
    federation.publish(5)
    federation.forget([3])
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    assert federation.reads == reads + 5 + len(federation.descendants([3]))
    with RecordIndex(whole, federation.sources()) as index:
        index.follow()
    assert contents(path) == contents(whole)


@pytest.mark.parametrize("between_runs", [False, True])
def test_another_history_makes_it_anew(tmp_path: Path, between_runs: bool) -> None:
    path = tmp_path / "index"
    before, after = GeneratedFederation(5, seed=1), GeneratedFederation(4, seed=2)
    before.publish(20)
    after.publish(12)
    index = RecordIndex(path, before.sources())
    index.follow()
    if between_runs:
        index.close()
        index = RecordIndex(path, after.sources())
    else:
        index._sources = after.sources()
    reader = IndexReader(path)
    assert len(reader.rows("SELECT * FROM model")) == 20
    with index:
        index.follow()
    assert len(reader.rows("SELECT * FROM model")) == 12
    with RecordIndex(tmp_path / "whole", after.sources()) as whole:
        whole.follow()
    assert contents(path) == contents(tmp_path / "whole")


def test_a_node_that_cannot_be_read_is_told_and_asked_for_again(
    federation: GeneratedFederation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = federation._files[federation._uris[7]]
    federation.lose(7)
    path = tmp_path / "index"
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
        reader = IndexReader(path)
        (row,) = reader.rows("SELECT position, problem FROM version WHERE state <> 1")
        assert row["position"] == federation.positions[7].packed
        assert "never generated" in row["problem"]
        federation._files[federation._uris[7]] = kept
        assert index.follow() == 0
        monkeypatch.setattr("blockful_py.explorer.documents.time.time", lambda: 1e11)
        assert index.follow() == 1
        assert reader.rows("SELECT * FROM version WHERE state <> 1") == []


def test_a_file_that_is_no_index_is_replaced(federation: GeneratedFederation, tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"not a database at all, and longer than a header" * 100)
    with RecordIndex(path, federation.sources()) as index:
        index.follow()
    assert len(IndexReader(path).rows("SELECT * FROM model")) == 20


class Counted:
    """A progress that records titles, totals and all steps of each stage."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None, int]] = []

    @contextmanager
    def stage(self, title: str, total: int | None, unit: str = "models") -> Iterator[Callable[[int], None]]:
        steps: list[int] = []
        yield steps.append
        self.stages.append((title, total, sum(steps)))


def test_the_first_indexing_is_counted_to_its_end(federation: GeneratedFederation, tmp_path: Path) -> None:
    shown = Counted()
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        done = index.follow(shown)
    assert sum(steps for _, _, steps in shown.stages) == done > 0
    assert all(total == steps > 0 for _, total, steps in shown.stages)
    titles = [title for title, _, _ in shown.stages]
    assert titles[0].startswith("index events")
    assert titles[-2:] == ["read receipts", "read model nodes and requests"]
