# SPDX-License-Identifier: Apache-2.0
"""No room in the store or for the journal: one clear error, and a job that can be resumed."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from blockful_py.engine.jobs import JobState, Kind
from blockful_py.engine.journal import Journal
from blockful_py.errors import BlockfulError, RunError
from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.report.runs.single import unlearn_once
from blockful_py.report.schema import Report
from blockful_py.types import Paradigm
from tests.faults.ground import promised_and_put_back
from tests.faults.states import State
from tests.federations import put_back, small, trained
from tests.forks import FORKS

SETTINGS = small(
    federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
    chain={"packaging_interval": 0},
)


def _report(run: Path, urls: tuple[str, str], limit: int, said: Connection) -> None:
    """Runs the command with files limited to `limit` bytes after the request is done."""
    unlearn = Federation.unlearn

    def filling(self: Federation, **arguments: Any) -> Unlearned:
        unlearned = unlearn(self, **arguments)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return unlearned

    Federation.unlearn = filling  # type: ignore[method-assign, assignment]
    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes, Federation.open(run, nodes=nodes) as federation:
        outcome = unlearn_once(federation, None, None, Paradigm.PARALLEL, None, Silent())
    told = outcome.report.to_bytes() if outcome.report else b""
    said.send((outcome.job, outcome.repeated, outcome.problem, told))


def _unlearn(run: Path, urls: tuple[str, str], place: ChainEndpoints, limit: int, said: Connection) -> None:
    """Runs the command with files limited to `limit` bytes."""
    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes:
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
    """The output of a process that unlearns with this little room."""
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
    with promised_and_put_back(tmp_path / "run", chains):
        yield tmp_path / "run"


@pytest.fixture
def undisturbed(origin: Path, chains: Nodes, tmp_path: Path) -> State:
    copy = shutil.copytree(origin, tmp_path / "undisturbed")
    with put_back(chains.live, chains.archive), Federation.open(copy, nodes=chains) as federation:
        federation.unlearn()
        return State.of(federation)


def test_no_room_for_the_weights(run: Path, chains: Nodes, undisturbed: State) -> None:
    """Refused without half-done work or files left in the store."""
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
    """The job stops in the middle of a decision, and continues when there is room."""
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


def test_no_room_for_the_report_of_a_request_that_is_done(run: Path, chains: Nodes) -> None:
    """The error says that the request is done; a repetition makes the report and changes nothing."""
    hears, says = FORKS.Pipe(duplex=False)
    urls = (chains.live.url, chains.archive.url)
    process = FORKS.Process(target=_report, args=(run, urls, 1000, says))
    process.start()
    says.close()
    number, repeated, problem, report = hears.recv()
    process.join()
    assert not repeated
    assert "cannot be written" in problem
    assert not (run / "report.json").exists()
    with Federation.open(run, nodes=chains) as federation:
        job = jobs_of(federation.run)[-1]
        assert (job.number, job.state) == (number, JobState.DONE)
        state, blocks = State.of(federation), chains.live.block_number()
        again = unlearn_once(federation, None, None, Paradigm.PARALLEL, None, Silent())
        assert (again.repeated, again.problem, again.job) == (True, None, number)
        assert again.report is not None
        told, made = Report.from_bytes(report).without_times(), again.report.without_times()
        lost = {"erasure", "passes", "certificates"}
        assert {key: made[key] for key in made.keys() - lost} == {
            key: told[key] for key in told.keys() - lost
        }
        third = unlearn_once(federation, None, None, Paradigm.PARALLEL, None, Silent())
        assert (third.repeated, third.problem) == (True, None)
        assert third.report == again.report
        assert (State.of(federation), chains.live.block_number()) == (state, blocks)
        assert jobs_of(federation.run)[-1] == job
        other = unlearn_once(federation, None, Forget.of_classes([5]), Paradigm.PARALLEL, None, Silent())
        assert (other.repeated, other.problem) == (False, None)


def test_no_room_for_the_figures_before_a_request(run: Path, chains: Nodes) -> None:
    """The command fails before it changes anything."""
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()}
    with Federation.open(run, nodes=chains) as federation, pytest.MonkeyPatch.context() as patch:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(os, "writev", full)
        with pytest.raises(
            RunError, match=r"figures.json cannot be written: No space left.*nothing was changed"
        ):
            unlearn_once(federation, None, None, Paradigm.PARALLEL, None, Silent())
    after = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} <= {run / "run.lock"}
