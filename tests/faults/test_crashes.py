# SPDX-License-Identifier: Apache-2.0
"""A crash at any point, then the same command again: as if nothing had happened, and nothing twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.errors import RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.nodes import Nodes
from blockful_py.types import ArchiveReason, Paradigm
from tests.faults.fuse import PowerCut, fused
from tests.federations import AFFECTED, GRAPH, put_back, small, trained, versions, weights

SETTINGS = small(chain={"packaging_interval": 0, "chunk_models": 2})
"""Two archive chunks and two live ones for s and t, x and y."""

TRANSACTIONS = {Paradigm.PARALLEL: 4, Paradigm.SEQUENTIAL: 2 * len(AFFECTED)}


@dataclass(frozen=True)
class State:
    """What an undisturbed run and a resumed one have in common, bit for bit."""

    models: dict[str, tuple[int, str, str]]
    header_versions: tuple[int, ...]
    archive: tuple[object, ...]
    live_files: frozenset[object]
    verified: bool
    audited: bool

    @classmethod
    def of(cls, federation: Federation) -> State:
        live, archive = federation.contracts.live, federation.contracts.archive
        return cls(
            {
                name: (placed.version, placed.uri.digest.hex(), weights(federation)[name])
                for name, placed in federation.catalogue().models.items()
            },
            tuple(header.version for header in live.headers(range(1, live.height() + 1))),
            tuple(stored.record for stored in archive.records(0, archive.length())),
            frozenset(federation.live_store),
            federation.verify().passed,
            federation.audit().passed,
        )


@dataclass(frozen=True)
class Ground:
    """A run directory to be copied for each case, and the chains it stands on."""

    directory: Path
    nodes: Nodes
    undisturbed: dict[Paradigm, State]


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("crashes")
    trained(SETTINGS, folder / "run", chains)
    undisturbed = {}
    for paradigm in Paradigm:
        shutil.copytree(folder / "run", folder / paradigm)
        with put_back(chains.live, chains.archive):
            federation = fused(folder / paradigm, chains)
            executed = federation.unlearn(paradigm=paradigm).executed
            undisturbed[paradigm] = State.of(federation)
        assert len(executed) == TRANSACTIONS[paradigm]
        assert undisturbed[paradigm].verified
        assert undisturbed[paradigm].audited
    yield Ground(folder / "run", chains, undisturbed)


@pytest.fixture
def run(ground: Ground, tmp_path: Path) -> Iterator[Path]:
    """A copy of the trained run; what happens on the chains is undone."""
    shutil.copytree(ground.directory, tmp_path / "run")
    with put_back(ground.nodes.live, ground.nodes.archive):
        yield tmp_path / "run"


def assert_archived_before_replaced(federation: Federation) -> None:
    """Invariant 3: each replaced version has its record; the reverse need not hold."""
    archive = federation.contracts.archive
    records = [stored.record for stored in archive.records(0, archive.length())]
    superseded = {(r.position, r.version) for r in records if r.reason is ArchiveReason.SUPERSEDED}
    for placed in federation.catalogue().models.values():
        for version in range(placed.version):
            assert (placed.position, version) in superseded
    assert all(federation.archive_store.read(record.uri) for record in records)


CASES = [
    *((Paradigm.PARALLEL, {"sending": number}) for number in range(TRANSACTIONS[Paradigm.PARALLEL])),
    (Paradigm.PARALLEL, {"adding": 5}),
    (Paradigm.PARALLEL, {"deleting": 3}),
    (Paradigm.SEQUENTIAL, {"sending": 3}),
    (Paradigm.SEQUENTIAL, {"sending": 4}),
    (Paradigm.SEQUENTIAL, {"deleting": 7}),
]


@pytest.mark.parametrize(("paradigm", "moment"), CASES)
def test_a_crash_and_the_same_request_again(
    ground: Ground, run: Path, paradigm: Paradigm, moment: dict[str, int]
) -> None:
    crashing = fused(run, ground.nodes, **moment)
    with pytest.raises(PowerCut):
        crashing.unlearn(paradigm=paradigm)
    assert_archived_before_replaced(crashing)
    resumed = Federation.open(run, nodes=ground.nodes)
    assert_archived_before_replaced(resumed)
    assert resumed.verify().passed
    unlearned = resumed.unlearn(paradigm=paradigm)
    assert State.of(resumed) == ground.undisturbed[paradigm]
    assert unlearned.affected == AFFECTED
    assert not (run / "request.json").exists()
    assert not (run / "journal.json").exists()


def test_between_two_live_chunks_the_record_says_that_it_is_not_settled(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=3).unlearn()
    halfway = fused(run, ground.nodes)
    assert versions(halfway) == dict.fromkeys(GRAPH, 0) | {"s": 1, "t": 1}
    assert {failure.model.split()[1]: failure.check for failure in halfway.verify().failures} == {
        "s": "settled",
        "t": "settled",
    }
    assert halfway.resume() == "unlearn s, t, x, y"
    assert halfway.verify().passed
    assert halfway.resume() is None


def test_the_bytes_to_forget_stay_until_the_live_chain_has_changed(ground: Ground, run: Path) -> None:
    before = fused(run, ground.nodes)
    files = set(before.live_store)
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=3).unlearn()
    assert files <= set(before.live_store)


def test_another_request_waits_for_the_unfinished_one(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=1).unlearn()
    federation = Federation.open(run, nodes=ground.nodes)
    unfinished = r"a parallel request to forget class 3 from s, t .* is unfinished"
    for other in ({"classes": [4]}, {"starts": ["s"]}, {"paradigm": "sequential"}):
        with pytest.raises(RunError, match=unfinished):
            federation.unlearn(**other)
    federation.unlearn()
    federation.unlearn(starts=["t"], classes=[4])
    assert versions(federation) == dict.fromkeys(GRAPH, 0) | {"s": 1, "x": 1, "t": 2, "y": 2}
    assert federation.verify().passed


def test_a_request_that_was_resumed_reports_what_it_replaced(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=2).unlearn()
    unlearned = Federation.open(run, nodes=ground.nodes).unlearn()
    assert unlearned.nodes.keys() == set(AFFECTED)
