# SPDX-License-Identifier: Apache-2.0
"""A training as a task has the bits of one in this process, its curve included."""

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
from blockful_py.errors import EngineError, LearningError
from blockful_py.learning import task_network
from blockful_py.learning.data import UserData
from blockful_py.learning.device import use_portable_products
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import Fitter, TrainingJob, fit_together
from blockful_py.learning.training import Fitted
from blockful_py.learning.training_task import TaskFitter, fitted_from_bytes, fitted_to_bytes
from blockful_py.learning.weights import equal
from blockful_py.settings import PrivacySettings, TrainingSettings
from blockful_py.storage.store import ContentStore

BRIEF = TrainingSettings(epochs=1)


@contextmanager
def on(engine: Engine, folder: Path) -> Iterator[Fitter]:
    """Trainings by the tasks of a job in `folder`."""
    with Journal(folder / "journal.sqlite") as journal:
        if journal.open_job() is None:
            journal.begin(Kind.TRAIN)
        with JournaledTasks(engine, ContentStore(folder / "tasks"), journal) as tasks:
            yield TaskFitter(tasks)


def jobs(cnn: Architecture, users: tuple[UserData, ...], settings: TrainingSettings) -> list[TrainingJob]:
    return [
        TrainingJob(cnn.initial(generator(i)), users[i].train, settings, generator(9, i)) for i in range(2)
    ]


def alike(one: tuple[Fitted, ...], other: tuple[Fitted, ...]) -> bool:
    return [each.curve for each in one] == [each.curve for each in other] and all(
        equal(left.weights, right.weights) for left, right in zip(one, other, strict=True)
    )


@pytest.mark.slow
def test_a_federation_has_the_same_bits_in_other_processes(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path
) -> None:
    use_portable_products()
    spec = FederationSpec(cnn, training=BRIEF, root_factor=1)
    here = [model for wave in train_federation(spec, users) for model in wave]
    with on(LocalProcesses(2), tmp_path) as fitter:
        there = [m for wave in train_federation(replace(spec, fitter=fitter), users) for m in wave]
    assert [(m.name, m.references, m.accuracy, m.curve) for m in here] == [
        (m.name, m.references, m.accuracy, m.curve) for m in there
    ]
    assert all(equal(one.weights, other.weights) for one, other in zip(here, there, strict=True))


@pytest.mark.parametrize(
    "settings",
    [
        BRIEF,
        replace(BRIEF, together="loop"),
        replace(BRIEF, together="loop", privacy=PrivacySettings(noise=1.0)),
        replace(BRIEF, together="loop", precision="bfloat16"),
    ],
    ids=["stacked", "loop", "private", "bfloat16"],
)
def test_every_kind_of_training_is_the_same_as_a_task(
    cnn: Architecture, users: tuple[UserData, ...], settings: TrainingSettings, tmp_path: Path
) -> None:
    if settings.privacy is not None:
        pytest.importorskip("opacus")
    with on(InThisProcess(), tmp_path) as fitter:
        there = fitter(cnn, jobs(cnn, users, settings))
    assert alike(there, fit_together(cnn, jobs(cnn, users, settings)))


def test_a_training_that_is_noted_is_read_not_repeated(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on(InThisProcess(), tmp_path) as fitter:
        first = fitter(cnn, jobs(cnn, users, BRIEF))
    monkeypatch.setattr("blockful_py.learning.training_task.fit_together", lambda *given: pytest.fail())
    with on(InThisProcess(), tmp_path) as fitter:
        assert alike(fitter(cnn, jobs(cnn, users, BRIEF)), first)


def test_a_training_that_fails_says_what_it_says_here(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path
) -> None:
    wild = replace(BRIEF, learning_rate=1e20)
    with pytest.raises(LearningError) as here:
        fit_together(cnn, jobs(cnn, users, wild))
    with on(InThisProcess(), tmp_path) as fitter, pytest.raises(LearningError) as there:
        fitter(cnn, jobs(cnn, users, wild))
    assert str(there.value) == str(here.value)


def test_a_stream_that_was_drawn_from_is_refused(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path
) -> None:
    used = jobs(cnn, users, BRIEF)
    torch.rand(1, generator=used[1].stream)
    with on(InThisProcess(), tmp_path) as fitter, pytest.raises(LearningError, match="a fresh stream"):
        fitter(cnn, used)


def test_a_worker_with_another_network_of_the_name_refuses(
    cnn: Architecture, users: tuple[UserData, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    own = tmp_path / "own_network.py"
    own.write_text("from blockful_py.learning.models.cnn import Cnn\n\nclass Own(Cnn):\n    pass\n")
    architecture = replace(cnn, name="own_network:Own")
    (one, _) = jobs(cnn, users, BRIEF)
    with on(InThisProcess(), tmp_path) as fitter:
        here = task_network.source_digest(architecture)
        assert here != task_network.source_digest(cnn)
        told = iter([here, "another"])  # to the driver, then to the worker
        monkeypatch.setattr(task_network, "source_digest", lambda architecture: next(told))
        with pytest.raises(EngineError, match="another version of model 'own_network:Own'"):
            fitter(architecture, [one])


def test_models_without_curves_survive_the_file(cnn: Architecture) -> None:
    models = [Fitted(cnn.initial(generator(i)), None) for i in range(11)]
    assert alike(tuple(fitted_from_bytes(fitted_to_bytes(models))), tuple(models))
