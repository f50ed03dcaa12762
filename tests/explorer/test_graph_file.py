# SPDX-License-Identifier: Apache-2.0
"""A graph file has the graph, and places that can be drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.graph_file import CAREFUL, CURVED, TYPES, GraphFiles, drawn_graph
from blockful_py.explorer.index import RecordIndex
from blockful_py.settings.sections import FederationSettings
from tests.explorer.generated import GeneratedFederation

PARTIES = FederationSettings(parties={"1": "Klinik Süd"})


def unpacked(data: bytes) -> dict[str, Any]:
    """Header and arrays of a graph file, by name."""
    raw = gzip.decompress(data)
    length = int.from_bytes(raw[:4], "little")
    document: dict[str, Any] = json.loads(raw[4 : 4 + length])
    offset = 4 + length
    assert offset % 4 == 0
    for each in document["arrays"]:
        array = np.frombuffer(raw, TYPES[each["type"]], each["length"], offset)
        document[each["name"]] = array
        offset += -(-array.nbytes // 4) * 4
    assert offset == len(raw)
    return document


def test_it_has_edges_names_versions_and_ticks(tmp_path: Path) -> None:
    federation = GeneratedFederation(users=5, references=2)
    federation.publish(20)
    replaced = federation.forget([6])
    assert federation.forget([6], damaged=replaced[1:3]) == replaced
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
    graph = unpacked(GraphFiles(IndexReader(tmp_path / "index"), PARTIES).current().data)
    assert graph["models"] == 20
    assert graph["names"] == [f"m{row}" for row in range(20)]
    assert [(each["user"], each["party"]) for each in graph["owners"]] == [
        (1, "Klinik Süd"),
        *((user, None) for user in range(2, 6)),
    ]
    edges = set(zip(graph["source"].tolist(), graph["target"].tolist(), strict=True))
    assert edges == {(each, row) for row, listed in enumerate(federation.references) for each in listed}
    heights = [each.height for each in federation.positions]
    assert graph["height"].tolist() == heights
    assert graph["born"].tolist() == heights
    assert [row for row in range(20) if graph["version"][row] == 2] == replaced
    assert graph["replaced_row"].tolist() == replaced * 2
    assert set(graph["replaced_tick"].tolist()) == {5, 6}
    assert np.flatnonzero(graph["at_chance"]).tolist() == replaced[1:3]
    assert [row for row in range(20) if not np.isnan(graph["ad_f"][row])] == replaced
    assert [each[1] for each in graph["ticks"]] == [1, 2, 3, 4, 4, 4]


def test_an_empty_federation_has_an_empty_graph(tmp_path: Path) -> None:
    with RecordIndex(tmp_path / "index", GeneratedFederation(5).sources()) as index:
        index.follow()
    graph = unpacked(GraphFiles(IndexReader(tmp_path / "index"), PARTIES).current().data)
    assert (graph["models"], graph["edges"], graph["ticks"]) == (0, 0, [])


def test_it_is_made_again_only_when_the_index_changed(tmp_path: Path) -> None:
    federation = GeneratedFederation(users=5)
    federation.publish(5)
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
        files = GraphFiles(IndexReader(tmp_path / "index"), PARTIES)
        before = files.current()
        assert files.current() is before
        federation.publish(5)
        index.follow()
        after = files.current()
    assert after.revision > before.revision
    assert unpacked(after.data)["models"] == 10


@pytest.mark.parametrize("models", [1, 40, CURVED + 1, CAREFUL + 100])
def test_every_model_has_a_place_of_its_own_right_of_its_references(models: int) -> None:
    federation = GeneratedFederation(users=20)
    federation.publish(models)
    edges = [(each, row) for row, listed in enumerate(federation.references) for each in listed]
    drawn = drawn_graph(models, np.array(edges, dtype=np.int64).reshape(-1, 2))
    found = drawn.places
    assert np.isfinite(found).all()
    assert len({tuple(each) for each in found.tolist()}) == models
    assert all(found[source, 0] < found[target, 0] for source, target in edges)
    if models <= CURVED:
        firsts = [0, *drawn.curve_end][:-1]
        for (source, target), first, end in zip(edges, firsts, drawn.curve_end, strict=True):
            assert (end - first) % 3 == 1
            assert drawn.curves[first] == pytest.approx(found[source])
            assert drawn.curves[end - 1] == pytest.approx(found[target])
    else:
        assert (len(drawn.curves), drawn.level) == (0, 0)
