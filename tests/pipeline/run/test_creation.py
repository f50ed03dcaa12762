# SPDX-License-Identifier: Apache-2.0
"""Two commands that make a run in one new folder: one makes it, and nothing of the other's is deleted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from blockful_py.errors import BlockfulError, NodeError, RunError
from blockful_py.file_lock import FileLock
from blockful_py.pipeline import operated
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run import contracts, creation
from blockful_py.pipeline.run.directory import PARTS
from blockful_py.pipeline.run.lease import LOCK
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from tests.federations import GRAPH, small
from tests.forks import FORKS

SETTINGS = small(committee={"size": 1})
STEPS = ("make the folder", "lock it", "look into it", "deploy", "name the contracts", "write run.json")
"""Of the creation of a run, in order; a process can be stopped before each."""
CROSSING = {
    ("make the folder", "lock it"),
    ("make the folder", "write run.json"),
    ("lock it", "look into it"),
}
"""Pairs of which the second one may have the lock when the first one asks for it."""
SECONDS = 600.0


def before(step: str, what: Callable[[], None]) -> None:
    """In this process, `what` is called before each creation's step."""
    places: dict[str, tuple[Any, str]] = {
        "make the folder": (creation, "_missing_made"),
        "lock it": (creation, "Lease"),
        "look into it": (creation, "_require_new"),
        "deploy": (operated, "deploy"),
        "name the contracts": (contracts, "open_contracts"),
        "write run.json": (operated.RunDirectory, "create"),
    }
    place, name = places[step]
    function = getattr(place, name)

    def preceded(*arguments: Any, **named: Any) -> Any:
        what()
        return function(*arguments, **named)

    setattr(place, name, preceded)


def _make(run: Path, urls: tuple[str, str], pausing: str | None, fail: str | None, pipe: Connection) -> None:
    """Says when it comes to the step `pausing` for the first time, and waits; then how it ended."""
    paused: list[str] = []

    def pause() -> None:
        if not paused:
            paused.append(pausing or "")
            pipe.send("paused")
            assert pipe.recv() == "go on"

    def broken() -> None:
        raise NodeError("the node is gone")

    if pausing is not None:
        before(pausing, pause)
    if fail is not None:
        before(fail, broken)
    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes:
        try:
            Federation.create(SETTINGS, run, nodes=nodes).close()
        except BlockfulError as error:
            pipe.send(f"{type(error).__name__}: {error}")
        else:
            pipe.send("made")


@dataclass
class Maker:
    """A process that makes a run."""

    run: Path
    chains: Nodes
    pausing: str | None = None
    fail: str | None = None
    said: list[str] = field(default_factory=list)

    def start(self) -> Maker:
        """Goes on until it pauses or has ended."""
        self.pipe, theirs = FORKS.Pipe()
        urls = (self.chains.live.url, self.chains.archive.url)
        self.process: BaseProcess = FORKS.Process(
            target=_make, args=(self.run, urls, self.pausing, self.fail, theirs)
        )
        self.process.start()
        theirs.close()
        self.said.append(self.pipe.recv())
        return self

    def release(self) -> None:
        if self.said[-1] == "paused":
            self.pipe.send("go on")

    def end(self) -> str:
        if self.said[-1] == "paused":
            self.said.append(self.pipe.recv())
        self.process.join(SECONDS)
        assert self.process.exitcode == 0
        return self.said[-1]

    def kill(self) -> None:
        assert self.said[-1] == "paused"
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join(SECONDS)


def _pair(first: str, second: str) -> Any:
    """Slow if the second one is refused before its step, which then says nothing, or if another pair crosses
    the lock alike."""
    quick = first == second or (first, second) in CROSSING
    return pytest.param(first, second, marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize(
    ("first", "second"), [_pair(*each) for each in combinations_with_replacement(STEPS, 2)]
)
def test_two_that_make_a_run_in_one_new_folder(
    chains: Nodes, tmp_path: Path, first: str, second: str
) -> None:
    """Both are released at the same moment, each before a step of its own.

    Which of them came to its step first changes nothing: one has the folder's lock at most, and the other one
    waits before the lock or was refused.
    """
    run = tmp_path / "new" / "run"
    makers = [Maker(run, chains, step).start() for step in (first, second)]
    for maker in makers:
        maker.release()
    ends = sorted(maker.end() for maker in makers)
    assert ends[1] == "made", ends
    assert ends[0].startswith("RunError: "), ends
    assert "is being made" in ends[0] or "holds a run already" in ends[0]
    with Federation.open(run, nodes=chains) as federation:
        assert federation.catalogue().models == {}


@pytest.mark.parametrize("step", STEPS[1:-1])
def test_one_that_fails_removes_nothing_of_the_other(chains: Nodes, tmp_path: Path, step: str) -> None:
    """The first fails after a second one has tried, or has made the run, meanwhile."""
    run = tmp_path / "run"
    failing = Maker(run, chains, step, fail="write run.json").start()
    other = Maker(run, chains)
    other.start()
    failing.release()
    ends = (failing.end(), other.end())
    if ends[1] == "made":
        assert ends[0].startswith("RunError")
        Federation.open(run, nodes=chains).close()
    else:
        assert "is being made" in ends[1]
        assert ends[0] == "NodeError: the node is gone"
        assert not run.exists()


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_while_a_run_is_made_and_the_next_command(chains: Nodes, tmp_path: Path, step: str) -> None:
    run = tmp_path / "run"
    maker = Maker(run, chains, step).start()
    maker.kill()
    left = {path.name for path in run.glob("*")}
    if "deployments" not in left:
        assert left <= {LOCK}
        Federation.create(SETTINGS, run, nodes=chains).close()
        return
    with pytest.raises(RunError, match="was broken off there, before it had models: remove the folder"):
        Federation.create(SETTINGS, run, nodes=chains)
    assert {path.name for path in run.glob("*")} == left
    with pytest.raises(RunError, match="there is no run in"):
        Federation.open(run, nodes=chains)


def test_the_loser_is_told_who_makes_the_run(chains: Nodes, tmp_path: Path) -> None:
    run = tmp_path / "run"
    maker = Maker(run, chains, "deploy").start()
    with pytest.raises(RunError, match=rf"by process {maker.process.pid} on .* since .*: wait until"):
        Federation.create(SETTINGS, run, nodes=chains)
    maker.release()
    assert maker.end() == "made"


def test_a_folder_that_holds_something_else_keeps_it(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    (run / "notes").mkdir(parents=True)
    (run / "notes" / "read.me").write_text("mine")

    def broken(*_: object) -> None:
        raise NodeError("the node is gone")

    with monkeypatch.context() as patch:
        patch.setattr(operated.RunDirectory, "create", broken)
        with pytest.raises(NodeError):
            Federation.create(SETTINGS, run, nodes=chains)
    assert [path.name for path in run.iterdir()] == ["notes"]
    Federation.create(SETTINGS, run, nodes=chains).close()
    assert (run / "notes" / "read.me").read_text() == "mine"


def test_a_run_whose_description_is_gone_is_not_made_anew(chains: Nodes, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with Federation.create(small(), run, nodes=chains) as federation:
        federation.train()
    assert {path.name for path in run.iterdir()} - {LOCK} <= {*PARTS}
    (run / "run.json").unlink()
    vaults = sorted(path for path in (run / "vaults").rglob("*"))
    with pytest.raises(RunError, match=r"no run.json: put that file back from a copy, or choose another"):
        Federation.create(small(), run, nodes=chains)
    assert sorted(path for path in (run / "vaults").rglob("*")) == vaults
    assert len(vaults) > len(GRAPH)


def test_the_chains_of_a_run_are_run_by_one_command(tmp_path: Path) -> None:
    """Two nodes on one LevelDB end the second one with a stack of its own."""
    place = ChainEndpoints(1337, 1338, databases=tmp_path / "chains")
    asked = pytest.raises(RunError, match=rf"run by process {os.getpid()} on .*: wait until it is done")
    with Nodes(place), asked:
        Nodes(place)
    with Nodes(place) as nodes:
        assert nodes.live.block_number() == 0


def test_a_claim_is_of_the_run_that_is_there(tmp_path: Path) -> None:
    """The lock of a folder that was removed and made again differs from the first one."""
    (tmp_path / "a").mkdir()
    first = FileLock(tmp_path / "a" / LOCK, RunError)
    first.discard()
    second = FileLock(tmp_path / "a" / LOCK, RunError)
    assert not FileLock.is_free(tmp_path / "a" / LOCK)
    second.close()
    assert FileLock.is_free(tmp_path / "a" / LOCK)
