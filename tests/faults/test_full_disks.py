# SPDX-License-Identifier: Apache-2.0
"""No room in the store or for the journal: one error that says so, and a job that goes on later."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from blockful_py.engine.jobs import JobState, Kind
from blockful_py.engine.journal import Journal
from blockful_py.errors import BlockfulError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.nodes import Nodes, Place
from tests.faults.states import State
from tests.federations import put_back, small, trained
from tests.forks import FORKS

SETTINGS = small(
    federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
    chain={"packaging_interval": 0},
)


def _unlearn(run: Path, urls: tuple[str, str], place: Place, limit: int, said: Connection) -> None:
    """As on a disk that takes no file of more than `limit` bytes."""
    with Nodes(Place(1337, 1338, *urls)) as nodes:
        nodes.place = place
        with Federation.open(run, nodes=nodes) as federation:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                federation.unlearn()
            except BlockfulError as error:
                said.send(str(error))
            else:
                said.send("")


def unlearn_without_room(run: Path, chains: Nodes, limit: int) -> str:
    """What the process says that unlearns with so little room."""
    hears, says = FORKS.Pipe(duplex=False)
    urls = (chains.live.url, chains.archive.url)
    process = FORKS.Process(target=_unlearn, args=(run, urls, chains.place, limit, says))
    process.start()
    says.close()
    said: str = hears.recv()
    process.join()
    return said


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("full") / "run"
    trained(SETTINGS, directory, chains).close()
    return directory


@pytest.fixture
def run(origin: Path, chains: Nodes, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(origin, tmp_path / "run")
    with put_back(chains.live, chains.archive):
        yield tmp_path / "run"


@pytest.fixture
def undisturbed(origin: Path, chains: Nodes, tmp_path: Path) -> State:
    copy = shutil.copytree(origin, tmp_path / "undisturbed")
    with put_back(chains.live, chains.archive), Federation.open(copy, nodes=chains) as federation:
        federation.unlearn()
        return State.of(federation)


def test_no_room_for_the_weights(run: Path, chains: Nodes, undisturbed: State) -> None:
    """Refused with nothing half-done, and nothing left in the store."""
    with Federation.open(run, nodes=chains) as federation:
        files, before = set(federation.stores.live), State.of(federation)
    largest = max(path.stat().st_size for path in (run / "live" / "blocks").rglob("*"))
    said = unlearn_without_room(run, chains, largest - 1)
    assert "no room is left" in said
    assert "free some space" in said
    with Federation.open(run, nodes=chains) as federation:
        assert jobs_of(federation.run)[-1].state is JobState.FAILED
        assert set(federation.stores.live) == files
        assert State.of(federation) == before
        federation.unlearn()
        assert State.of(federation) == undisturbed


def test_no_room_for_the_journal(run: Path, chains: Nodes, undisturbed: State) -> None:
    """It ends in the middle of a decision, and goes on when there is room."""
    said = unlearn_without_room(run, chains, 60_000)
    assert "journal.sqlite cannot be written" in said
    assert "Make room" in said
    with Journal(run / "journal.sqlite") as journal:
        job = journal.open_job()
    assert job is not None
    assert job.kind is Kind.PARALLEL
    with Federation.open(run, nodes=chains) as federation:
        federation.unlearn()
        assert State.of(federation) == undisturbed
