# SPDX-License-Identifier: Apache-2.0
"""A job is killed before and after every step of its journal, and resumed each time.

The chains, stores and keys are the same in the end, without repeated work.  One job of each kind runs this
gauntlet: each process resumes from the state that the last kill left.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.engine.jobs import Act, Job, JobState, Kind
from blockful_py.errors import RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of, resume
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Paradigm
from tests.faults.gauntlet import CLOSED, Moment, When, Work, killed_at, moments
from tests.faults.ground import promised_and_put_back
from tests.faults.states import State, assert_archived_before_replaced
from tests.federations import put_back, small, versions

GRAPH = {"s": (), "x": ("s",)}
SETTINGS = small(
    federation={"users": 2, "graph": GRAPH},
    unlearning={"starts": ("s",)},
    committee={"size": 1},
    chain={"packaging_interval": 0, "chunk_models": 1},
)
"""Two blocks to publish; in parallel, one decision of two archive chunks and two live ones."""
DECIDED = [Act.STORE, Act.KEYS, Act.CERTIFY]
ENDING = [Act.CONFIRM, Act.DELETE, Act.ERASE]


def publish(federation: Federation) -> object:
    return federation.train()


def in_parallel(federation: Federation) -> object:
    return federation.unlearn(paradigm=Paradigm.PARALLEL)


def in_sequence(federation: Federation) -> object:
    return federation.unlearn(paradigm=Paradigm.SEQUENTIAL)


@dataclass(frozen=True)
class Case:
    """A job, its initial state, and the acts that its journal must list."""

    kind: Kind
    work: Work
    trained: bool
    acts: list[Act]


CASES = [
    Case(Kind.TRAIN, publish, False, 2 * [*DECIDED, Act.SEND, Act.SEND] + [Act.CONFIRM]),
    Case(Kind.PARALLEL, in_parallel, True, [*DECIDED, *4 * [Act.SEND], *ENDING]),
    Case(Kind.SEQUENTIAL, in_sequence, True, 2 * [*DECIDED, Act.SEND, Act.SEND] + ENDING),
]


@pytest.fixture(scope="module")
def deployed(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("steps") / "run"
    Federation.create(SETTINGS, directory, nodes=chains).close()
    return directory


@pytest.fixture(params=CASES, ids=lambda case: case.kind.replace(" ", "-"))
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


@pytest.fixture
def run(deployed: Path, chains: Nodes, tmp_path: Path, case: Case) -> Iterator[Path]:
    """The initial run of the case; changes on the chains are undone."""
    shutil.copytree(deployed, tmp_path / "run")
    with promised_and_put_back(tmp_path / "run", chains):
        if case.trained:
            with Federation.open(tmp_path / "run", nodes=chains) as federation:
                federation.train()
        yield tmp_path / "run"


@pytest.fixture
def trained_run(deployed: Path, chains: Nodes, tmp_path: Path) -> Iterator[Path]:
    """A trained run; changes on the chains are undone."""
    shutil.copytree(deployed, tmp_path / "run")
    with promised_and_put_back(tmp_path / "run", chains):
        with Federation.open(tmp_path / "run", nodes=chains) as federation:
            federation.train()
        yield tmp_path / "run"


def undisturbed(run: Path, chains: Nodes, work: Callable[[Federation], object]) -> tuple[Job, State]:
    """The job, and the state after it, on reset chains and in a copy of the run."""
    copy = run.with_name("undisturbed")
    shutil.copytree(run, copy)
    with put_back(chains.live, chains.archive), Federation.open(copy, nodes=chains) as federation:
        work(federation)
        return jobs_of(federation.run)[-1], State.of(federation)


def test_a_request_is_given_up_before_anything_is_sent(trained_run: Path, chains: Nodes) -> None:
    """Its certificate is never used; stored files and keys are removed again."""
    with Federation.open(trained_run, nodes=chains) as federation:
        before = State.of(federation)
    first_send = Moment(When.BEFORE, Act.SEND, "s, x, archive 1 of 2")
    for moment in (Moment(When.AFTER, Act.KEYS, "s, x"), Moment(When.AFTER, Act.CERTIFY, "s, x")):
        killed_at(moment, trained_run, chains, in_parallel)
        with Federation.open(trained_run, nodes=chains, settle=False) as federation:
            assert not set(federation.stores.live) <= before.live_files
            assert federation.abort().state is JobState.ABORTED
            assert State.of(federation) == before
    killed_at(first_send, trained_run, chains, in_parallel)
    with Federation.open(trained_run, nodes=chains, settle=False) as federation:
        with pytest.raises(RunError, match=r"may be on the chains already .*blockful resume"):
            federation.abort()
        resume(federation)
        assert versions(federation) == {"s": 1, "x": 1}
        with pytest.raises(RunError, match="no job is unfinished"):
            federation.abort()


def test_a_training_is_given_up_between_its_blocks(deployed: Path, chains: Nodes, tmp_path: Path) -> None:
    """Its published blocks stay, and another training continues from there."""
    run = tmp_path / "run"
    shutil.copytree(deployed, run)
    with promised_and_put_back(run, chains):
        killed_at(Moment(When.AFTER, Act.SEND, "s, archive 1 of 1"), run, chains, publish)
        with (
            Federation.open(run, nodes=chains, settle=False) as federation,
            pytest.raises(RunError, match=r"job 1 \(train\) cannot be given up.*publish s"),
        ):
            federation.abort()
        killed_at(Moment(When.AFTER, Act.STORE, "x"), run, chains, publish)
        with Federation.open(run, nodes=chains, settle=False) as federation:
            assert federation.abort().state is JobState.ABORTED
            assert len(set(federation.stores.live)) == 2
            assert versions(federation) == {"s": 0}
            federation.train()
            assert versions(federation) == {"s": 0, "x": 0}
            assert federation.verify().passed


@pytest.mark.slow
def test_a_job_killed_at_every_step(case: Case, run: Path, chains: Nodes) -> None:
    job, state = undisturbed(run, chains, case.work)
    assert [step.act for step in job.steps] == case.acts
    assert (job.kind, job.state) == (case.kind, JobState.DONE)
    assert state.verified
    assert state.audited
    assert state.promises_kept
    for moment in moments(job):
        killed_at(moment, run, chains, case.work)
        with Federation.open(run, nodes=chains, settle=False) as federation:
            assert_archived_before_replaced(federation)
            assert len(jobs_of(federation.run)) == job.number
            unfinished = federation.context.journal.open_job()
            assert (unfinished is None) == (moment == CLOSED)
    with Federation.open(run, nodes=chains) as federation:
        assert State.of(federation) == state
        resumed = jobs_of(federation.run)[-1]
        assert resumed.state is JobState.DONE
        sent = [step.transaction for step in resumed.valid if step.act is Act.SEND]
        assert None not in sent
        assert len({*sent}) == case.acts.count(Act.SEND)
