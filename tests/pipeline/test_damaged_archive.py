# SPDX-License-Identifier: Apache-2.0
"""An audit of an archive whose store is damaged names the file, its CID and the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.storage.cid import cid_string
from tests.federations import GRAPH, small, trained


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with trained(small(), tmp_path_factory.mktemp("damaged") / "run", chains) as federation:
        yield federation


@pytest.mark.parametrize("part", ["node", "weights"])
@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_the_damaged_file_is_named(federation: Federation, part: str, damage: str) -> None:
    placed = federation.catalogue()["x"]
    uri = placed.uri if part == "node" else placed.node.weights
    assert federation.audit().problems == ()
    (path,) = _blocks(federation.run.archive_store, cid_string(uri))
    content = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    audit = federation.audit()
    path.write_bytes(content)
    (problem,) = audit.problems
    name = "x at" if part == "weights" else "the model at"
    assert re.match(
        rf"record \d+: the {part} of version 0 of {name} {placed.position} cannot be read: file "
        rf"{cid_string(uri)}: .*Put the file back",
        problem,
    )
    (entry,) = (entry for entry in audit.entries if not entry.readable)
    assert entry.unread is not None
    assert (entry.unread.part, entry.unread.cid) == (part, cid_string(uri))
    assert len(audit.entries) == len(GRAPH)


def _blocks(store: Path, cid: str) -> list[Path]:
    return [path for path in (store / "blocks").rglob("*") if path.is_file() and path.name == cid]
