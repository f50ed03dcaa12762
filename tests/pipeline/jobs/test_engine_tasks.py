# SPDX-License-Identifier: Apache-2.0
"""A run whose trainings go to local processes comes to the same bits, also after an interruption, and leaves
nothing behind that is not sealed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.engine.jobs import Act, JobState, Step, StepState
from blockful_py.errors import EngineError
from blockful_py.learning.curve_file import kept_curves
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.faults.fuse import PowerCut, fused
from tests.federations import AFFECTED, put_back, small, weights

PROCESSES = {"kind": "processes", "workers": 1}
NOBODY = {"kind": "ray", "address": "127.0.0.1:1"}


@pytest.fixture(scope="module")
def deployed(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("engine") / "run"
    Federation.create(small(engine=PROCESSES), directory, nodes=chains)
    return directory


def copied(deployed: Path, folder: Path, engine: dict[str, object]) -> Path:
    """The run with another engine."""
    copy = shutil.copytree(deployed, folder / "run")
    document = json.loads((copy / "run.json").read_text())
    document["settings"]["engine"] |= {"workers": None, **engine}
    (copy / "run.json").write_text(json.dumps(document))
    return copy


def trained_and_unlearned(federation: Federation) -> tuple[object, ...]:
    """Weights after both, and the learning curves."""
    federation.train()
    trained = weights(federation)
    federation.unlearn(paradigm="sequential")
    assert federation.verify().passed
    return trained, weights(federation), kept_curves(federation.run.curves)


def computed(federation: Federation) -> list[Step]:
    return [
        step for job in federation.context.journal.jobs() for step in job.steps if step.act is Act.COMPUTE
    ]


@pytest.fixture(scope="module")
def undisturbed(
    deployed: Path, chains: Nodes, tmp_path_factory: pytest.TempPathFactory
) -> tuple[object, ...]:
    copy = copied(deployed, tmp_path_factory.mktemp("here"), {"kind": "here"})
    with put_back(chains.live, chains.archive), Federation.open(copy, nodes=chains) as federation:
        come = trained_and_unlearned(federation)
        assert computed(federation) == []
    return come


@pytest.mark.slow
def test_an_interrupted_run_in_processes_comes_to_the_same(
    deployed: Path, undisturbed: tuple[object, ...], chains: Nodes, tmp_path: Path
) -> None:
    copy = copied(deployed, tmp_path, PROCESSES)
    with put_back(chains.live, chains.archive):
        with pytest.raises(PowerCut):
            fused(copy, chains, sending=0).train()
        assert (copy / "tasks").is_dir()
        with Federation.open(copy, nodes=chains, settle=False) as federation:
            before = computed(federation)
            assert [step.state for step in before] == 2 * [StepState.DONE]  # a wave on its way, and the next
        with Federation.open(copy, nodes=chains) as federation:
            assert trained_and_unlearned(federation) == undisturbed
            steps = computed(federation)
            assert {step.state for step in steps} == {StepState.DONE}
            assert steps[:2] == [replace(step, body={}) for step in before]  # read, and not taken again
            assert len(steps) == 4 + len(AFFECTED)  # waves, each a stack; then model by model
        assert not (copy / "tasks").exists()


def test_an_abort_deletes_what_tasks_were_given(deployed: Path, chains: Nodes, tmp_path: Path) -> None:
    copy = copied(deployed, tmp_path, PROCESSES)
    with put_back(chains.live, chains.archive):
        with pytest.raises(PowerCut):
            fused(copy, chains, adding=0).train()
        assert list((copy / "tasks" / "pins").iterdir())
        with Federation.open(copy, nodes=chains, settle=False) as federation:
            assert federation.abort().state is JobState.ABORTED
        assert not (copy / "tasks").exists()


def test_an_engine_that_does_not_answer_leaves_the_job_to_be_resumed(
    deployed: Path, chains: Nodes, tmp_path: Path
) -> None:
    copy = copied(deployed, tmp_path, NOBODY)
    with put_back(chains.live, chains.archive), Federation.open(copy, nodes=chains) as federation:
        with pytest.raises(EngineError, match="no Ray cluster answers"):
            federation.train()
        assert federation.context.journal.open_job() is not None
        federation.abort()
