# SPDX-License-Identifier: Apache-2.0
"""IPFS nodes are killed during jobs: one clear error each time, whole chains, and the same end result.

One job of each kind runs the gauntlet: each attempt resumes from the state that the last kill left.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.engine.jobs import Act, JobState
from blockful_py.errors import StoreUnreachableError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of, resume
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.catalogue import all_transactions
from tests.faults.states import State, assert_archived_before_replaced
from tests.federations import put_back, small
from tests.ipfs.conftest import running
from tests.ipfs.killing import Moment, killed
from tests.ipfs.nodes import IpfsNode

PUBLISHING = [
    Moment(Act.STORE, "live", "/block/put", 1),
    Moment(Act.STORE, "archive", "/block/put", 0),
    Moment(Act.CERTIFY, "live", "/block/get", 0),
]
"""Between blocks, between the live store and the archive's, while members look."""
UNLEARNING = [
    Moment(Act.STORE, "live", "/block/put", 0),
    Moment(Act.STORE, "live", "/pin/add", 0),
    Moment(Act.SEND, "live", "", 1),
    Moment(Act.ERASE, "archive", "/block/get", 0),
]
"""Before the first block, before the pin, between archive chain and live chain, at the end."""


@dataclass(frozen=True)
class Stage:
    """A deployed and undisturbed run, its nodes, and the undisturbed results of its jobs."""

    run: Path
    chains: Nodes
    nodes: Mapping[str, IpfsNode]
    trained: State
    unlearned: State


@pytest.fixture(scope="module")
def stage(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("killed")
    with running(folder / "ipfs") as live, running(folder / "archive") as archive:
        settings = small(
            federation={"users": 2, "graph": {"s": (), "x": ("s",)}},
            learning={"model": "tests.ipfs.wide:Wide"},
            unlearning={"starts": ("s",)},
            committee={"size": 1},
            storage={"api": live.api, "archive_api": archive.api},
        )
        Federation.create(settings, folder / "run", nodes=chains).close()
        shutil.copytree(folder / "run", folder / "undisturbed")
        with (
            put_back(chains.live, chains.archive),
            Federation.open(folder / "undisturbed", nodes=chains) as federation,
        ):
            federation.train()
            trained = State.of(federation)
            federation.unlearn()
            unlearned = State.of(federation)
            for store in (federation.stores.live, federation.stores.archive):
                for uri in list(store):
                    store.delete(uri)
        yield Stage(folder / "run", chains, {"live": live, "archive": archive}, trained, unlearned)


def disturbed(stage: Stage, moments: Sequence[Moment], work: Callable[[Federation], object]) -> State:
    """The result of a job whose nodes are killed at each of the moments; each attempt resumes it."""
    for number, moment in enumerate(moments):
        node = stage.nodes[moment.store]
        with Federation.open(stage.run, nodes=stage.chains) as federation:
            with (
                killed(moment, node),
                pytest.raises(StoreUnreachableError, match=r"cannot be reached, or broke off .*: start it"),
            ):
                resume(federation) if number else work(federation)
            assert_whole(federation)
        with pytest.raises(StoreUnreachableError, match="start it"):
            Federation.open(stage.run, nodes=stage.chains)
        node.start()
        with Federation.open(stage.run, nodes=stage.chains) as federation:
            assert_archived_before_replaced(federation)
            assert federation.verify().passed
            assert jobs_of(federation.run)[-1].state is JobState.OPEN
    with Federation.open(stage.run, nodes=stage.chains) as federation:
        resume(federation)
        return State.of(federation)


def assert_whole(federation: Federation) -> None:
    """Every model is on both chains, and no redaction is half done."""
    live, archive = federation.contracts.live, federation.contracts.archive
    transactions = all_transactions(live)
    assert all(each.settled for each in transactions)
    assert archive.length() == sum(1 + each.version for each in transactions)


def assert_nothing_twice(stage: Stage) -> None:
    job = jobs_of(RunDirectory.open(stage.run))[-1]
    assert job.state is JobState.DONE
    sent = [step.transaction for step in job.valid if step.act is Act.SEND]
    assert None not in sent
    assert len({*sent}) == len(sent)


def test_jobs_whose_ipfs_nodes_are_killed_end_as_if_nothing_had_happened(stage: Stage) -> None:
    assert disturbed(stage, PUBLISHING, Federation.train) == stage.trained
    assert_nothing_twice(stage)
    assert disturbed(stage, UNLEARNING, Federation.unlearn) == stage.unlearned
    assert_nothing_twice(stage)
