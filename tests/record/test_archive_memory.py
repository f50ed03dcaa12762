# SPDX-License-Identifier: Apache-2.0
"""An auditor's own file shows that the archive is still the one that was seen before."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import FormatError, RunError
from blockful_py.record.archive_memory import recall, remember
from tests.devnets import set_code
from tests.federations import GRAPH, set_back
from tests.record.conftest import Scene
from tests.record.slots import created

HEAD, RECORD, DIGEST = 17, 46, 14
"""Bytes of contracts/lib/RecordCode.sol: before the records, of each, and of a record before its digest."""


def _flip_digest(scene: Scene, index: int) -> None:
    """Alters the digest of a record in the contract's storage."""
    archive = scene.federation.contracts.archive
    number, code = 1, archive.node.code(created(archive.address, 1))
    while int.from_bytes(code[1:9], "big") + (len(code) - HEAD) // RECORD <= index:
        number += 1
        code = archive.node.code(created(archive.address, number))
    place = HEAD + RECORD * (index - int.from_bytes(code[1:9], "big")) + DIGEST
    altered = code[:place] + bytes([code[place] ^ 1]) + code[place + 1 :]
    set_code(archive.node, created(archive.address, number), altered)


def test_what_is_remembered_is_what_the_archive_begins_with(scene: Scene, tmp_path: Path) -> None:
    archive, path = scene.federation.contracts.archive, tmp_path / "seen.json"
    assert recall(path, archive) == ()
    count = remember(path, archive)
    assert recall(path, archive) == archive.records(0, count)
    with scene.put_back():
        scene.federation.unlearn(starts=["t"])
        outcome = scene.federation.audit(recall(path, archive))
        assert outcome.extends
        assert outcome.passed
        assert remember(path, archive) > count
    gone = scene.federation.audit(recall(path, archive))
    assert not gone.extends
    assert any(problem.startswith(f"record {count} is missing; remembered") for problem in gone.problems)


def test_an_altered_record_is_named_by_its_index(scene: Scene, tmp_path: Path) -> None:
    archive, path = scene.federation.contracts.archive, tmp_path / "seen.json"
    remember(path, archive)
    with set_back(scene.federation, scene.federation.nodes.archive):
        _flip_digest(scene, 4)
        blind = scene.federation.audit()
        assert not blind.extends
        problems = scene.federation.audit(recall(path, archive)).problems
    named = [problem for problem in problems if problem.startswith("record 4 was altered")]
    assert len(named) == 2
    assert "not what the chain logged" in named[0]
    assert "remembered is version 0 of 2:2" in named[1]
    assert any("do not hash to the archive's head" in problem for problem in problems)
    assert not [problem for problem in problems if problem.startswith("record 3")]
    assert any(problem.startswith("record 4 was altered") for problem in blind.problems)
    assert any(problem.startswith("record 4: version 0 of 2:2 was bafk") for problem in problems)
    assert scene.federation.audit(recall(path, archive)).passed


def test_every_position_has_its_timeline(scene: Scene) -> None:
    outcome = scene.federation.audit()
    found = {
        each.name: ([(e.version, e.reason) for e in each.entries], each.current) for each in outcome.timelines
    }
    assert found.keys() == GRAPH.keys()
    assert found["a"] == ([(0, "published")], 0)
    assert found["x"] == ([(0, "published"), (0, "superseded")], 1)


def test_a_damaged_file_is_refused_and_left_alone(scene: Scene, tmp_path: Path) -> None:
    archive, path = scene.federation.contracts.archive, tmp_path / "seen.json"
    remember(path, archive)
    whole = path.read_bytes()
    for data in (whole[:-10], b"", whole.replace(b'"version": 0', b'"version": 1', 1)):
        path.write_bytes(data)
        with pytest.raises(FormatError, match="it was left as it is"):
            recall(path, archive)
        assert path.read_bytes() == data


def test_a_file_of_another_archive_is_refused(scene: Scene, tmp_path: Path) -> None:
    archive, path = scene.federation.contracts.archive, tmp_path / "seen.json"
    remember(path, archive)

    class Elsewhere:
        chain_id, address = archive.chain_id, bytes(20)
        length, records = archive.length, archive.records

    with pytest.raises(RunError, match="use another file"):
        recall(path, Elsewhere())
    with pytest.raises(RunError, match="cannot be read"):
        recall(tmp_path, archive)
    with pytest.raises(RunError, match="cannot be written"):
        remember(tmp_path / "nowhere" / "seen.json", archive)
