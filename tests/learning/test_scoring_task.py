# SPDX-License-Identifier: Apache-2.0
"""Models scored as tasks have the hits of models scored in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockful_py.engine.engine import Engine, InThisProcess, LocalProcesses
from blockful_py.engine.jobs import Kind
from blockful_py.engine.journal import Journal
from blockful_py.engine.journaled_tasks import JournaledTasks
from blockful_py.learning.data import UserData
from blockful_py.learning.evaluation import Scorer, hits
from blockful_py.learning.models import Architecture
from blockful_py.learning.scoring_task import TaskScorer
from blockful_py.learning.streams import generator
from blockful_py.storage.store import ContentStore


@contextmanager
def on(engine: Engine, folder: Path) -> Iterator[Scorer]:
    with Journal(folder / "journal.sqlite") as journal:
        if journal.open_job() is None:
            journal.begin(Kind.PARALLEL)
        with JournaledTasks(engine, ContentStore(folder / "tasks"), journal) as tasks:
            yield TaskScorer(tasks)


@pytest.fixture
def alone(cnn: Architecture) -> Architecture:
    """A network that is not scored in stacks."""
    return replace(cnn, name="resnet18")


@pytest.mark.slow
def test_tasks_say_what_this_process_says(
    alone: Architecture, users: tuple[UserData, ...], tmp_path: Path
) -> None:
    models = {f"r{i}": alone.initial(generator(i)) for i in range(2)}
    here = hits(alone, models, users[0].test)
    with on(LocalProcesses(2), tmp_path) as scorer:
        there = scorer(alone, models, users[0].test)
    assert list(there) == list(here)
    assert all(torch.equal(there[name], here[name]) for name in here)


def test_a_model_that_was_scored_is_not_scored_again(
    alone: Architecture, users: tuple[UserData, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {"r0": alone.initial(generator(0))}
    with on(InThisProcess(), tmp_path) as scorer:
        first = scorer(alone, models, users[0].test)
    monkeypatch.setattr("blockful_py.learning.scoring_task.hits", lambda *given: pytest.fail())
    with on(InThisProcess(), tmp_path) as scorer:
        assert torch.equal(scorer(alone, models, users[0].test)["r0"], first["r0"])


def test_models_of_stacks_are_scored_here(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path
) -> None:
    models = {f"r{i}": cnn.initial(generator(i)) for i in range(2)}
    with on(InThisProcess(), tmp_path) as scorer:
        scored = scorer(cnn, models, users[0].test)
    assert all(torch.equal(scored[name], right) for name, right in hits(cnn, models, users[0].test).items())
    with Journal(tmp_path / "journal.sqlite") as journal:
        (job,) = filter(None, [journal.open_job()])
        assert not job.valid
