# SPDX-License-Identifier: Apache-2.0
"""The paper's tables, rerun: AD_r, AD_f and seconds of r5, r6 and r8, by method and number of classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np

from blockful_lab.experiments.machine import THREADS, describe
from blockful_lab.experiments.measured_on import HERE, measured_on
from blockful_lab.experiments.paper import MODELS, Rerun, Setting
from blockful_lab.experiments.protocol import HOLDERS, PreparedCell
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import FormatError
from blockful_py.forget import Forget
from blockful_py.learning.data import pooled
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_repeatable_kernels, use_threads
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.training_setup import CPU, device_for
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.settings import DataOptions, EngineSettings, FederationSettings, TrainingSettings
from blockful_py.unlearning.audit import audit_accuracy
from blockful_py.unlearning.audit.samples import SHOWN, first_of_each
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.whole_file import write_whole

METHODS = ("retrain", "gradient_ascent", "fine_tune", "distill")
"""The paper's four methods."""

ORIGINAL = "original"
STARTS = ("r5", "r7")
FORMAT = "blockful-experiment-tables/1"
CASES = "tables.jsonl"
"""One measured case a line."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One model after one method: accuracies in [0, 1], and the seconds of the steps up to it."""

    method: str
    model: str
    ad_r_train: float
    ad_f_train: float
    ad_r_test: float
    ad_f_test: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Case:
    """A setting, the number of classes to forget, and the seed."""

    setting: Setting
    classes: int
    seed: int


def cases(seeds: tuple[int, ...], rerun: Rerun) -> tuple[Case, ...]:
    """All cases of the rows, each once, seed after seed."""
    needed = dict.fromkeys((setting, row.classes) for row, setting in rerun.rows())
    return tuple(Case(setting, count, seed) for seed in seeds for setting, count in needed)


def run(
    wanted: Iterable[Case],
    folder: Path,
    command: str,
    report: Callable[[str], None] = lambda line: None,
    progress: Progress | None = None,
    engine: EngineSettings = HERE,
) -> dict[Case, tuple[Measured, ...]]:
    """Measures the cases that are not stored yet, and returns all.

    A case is a task of the engine.

    Raises:
        RunError: the folder cannot be written, or another process measures there.
        FormatError: its file is damaged.
        EngineError: the engine does not answer, or its workers cannot work.
    """
    wanted = tuple(wanted)
    stored = _read(folder)
    missing = [case for case in wanted if case not in stored]
    with (
        (progress or Silent()).stage("measure", len(missing), "cases") as advance,
        measured_on(engine, folder, [_task(case) for case in missing]) as measured,
    ):
        for place, result in measured:
            case, told = missing[place], json.loads(result)
            _append(folder, case, told, command)
            report(f"{_title(case)}: {told['seconds']:.0f} s")
            advance(1)
    return collect(wanted, folder)


def collect(wanted: Iterable[Case], folder: Path) -> dict[Case, tuple[Measured, ...]]:
    """The stored results of these cases.  Raises FormatError for a damaged file."""
    stored = _read(folder)
    return {case: stored[case] for case in wanted if case in stored}


def measure_case(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """A `TaskFunction`: measures the case in `settings`; returns figures, machine and seconds."""
    use_threads(THREADS)
    began = perf_counter()
    case = _case(settings)
    measured = [asdict(one) for one in _measure(prepare(case))]
    told = {"machine": describe(THREADS), "measured": measured, "seconds": perf_counter() - began}
    return json.dumps(told).encode()


def _task(case: Case) -> EngineTask:
    return EngineTask(
        title=_title(case),
        function=f"{__name__}:{measure_case.__name__}",
        settings=asdict(case),
        seeds=(case.seed,),
        cpus=THREADS,
    )


def _case(told: Mapping[str, Any]) -> Case:
    return Case(Setting(**told["setting"]), told["classes"], told["seed"])


def _title(case: Case) -> str:
    return f"{case.setting.title}, {case.classes} to forget, seed {case.seed}"


def prepare(case: Case) -> PreparedCell:
    """Trains the paper's 14 users with one model each; users 5 and 7 start.

    Only these two hold the classes, unless the setting divides the data in another way.

    Raises:
        SettingsError: a data set is not embedded, and its files or network are not there.
    """
    setting = case.setting
    options = DataOptions(data_limit=setting.data_limit)
    data = load_dataset(setting.data, case.seed, CPU, options)
    architecture = Architecture.of(setting.network, data)
    training = TrainingSettings(epochs=setting.epochs, learning_rate=setting.rate)
    device = device_for("auto", architecture, training)
    use_repeatable_kernels(device)
    data = data.to(device)
    labels = data.train.classes()
    drawn = [labels[int(i)] for i in np.random.default_rng(case.seed).permutation(len(labels))]
    forget, others = tuple(sorted(drawn[: case.classes])), drawn[case.classes :]
    missing = {
        user: tuple(sorted(others[i * setting.lacking : (i + 1) * setting.lacking]))
        for i, user in enumerate(HOLDERS)
    }
    federation = FederationSettings(situation=setting.situation, missing=missing)
    users = partition(data, Division(federation, HOLDERS, forget), case.seed)
    settings = FederationSpec(
        architecture,
        federation,
        training,
        seed=case.seed,
        starting_users=HOLDERS,
    )
    models = [model for wave in train_federation(settings, users) for model in wave]
    proxy = first_of_each(data.proxy, tuple(label for label in labels if label not in forget), SHOWN)
    task = UnlearningTask.of(settings, models, users, STARTS, Forget.of_classes(forget), proxy)
    return PreparedCell(task, data, settings)


def _measure(prepared: PreparedCell) -> Iterator[Measured]:
    """Measures the original, and each method model by model.

    Seconds add up, as in the paper, in the order of the models.
    """
    task = prepared.task
    yield from _audited(prepared, ORIGINAL, task.weights(MODELS), dict.fromkeys(MODELS, 0.0))
    for name in METHODS:
        weights: dict[str, Weights] = {}
        seconds: dict[str, float] = {}
        passed = 0.0
        for step in create_method(name).steps(task):
            passed += step.seconds
            weights[step.name], seconds[step.name] = step.weights, passed
        yield from _audited(prepared, name, {model: weights[model] for model in MODELS}, seconds)


def _audited(
    prepared: PreparedCell, method: str, weights: Mapping[str, Weights], seconds: Mapping[str, float]
) -> Iterator[Measured]:
    task = prepared.task
    train = pooled(user.train for user in task.users.values())
    accuracies = audit_accuracy(task.architecture, weights, train, prepared.data.test, task.classes)
    for model, accuracy in accuracies.items():
        yield Measured(
            method,
            model,
            accuracy.train.ad_r,
            cast(float, accuracy.train.ad_f),
            accuracy.test.ad_r,
            cast(float, accuracy.test.ad_f),
            round(seconds[model], 3),
        )


def _append(folder: Path, case: Case, told: Mapping[str, Any], command: str) -> None:
    document = {
        "format": FORMAT,
        "case": asdict(case),
        "command": command,
        "machine": told["machine"],
        "measured": told["measured"],
    }
    path = folder / CASES
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    write_whole(path, before + json.dumps(document) + "\n", parents=True)


def _read(folder: Path) -> dict[Case, tuple[Measured, ...]]:
    """All stored cases.  Raises FormatError for a damaged file."""
    path = folder / CASES
    if not path.exists():
        return {}
    names = {field.name for field in fields(Measured)}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            document: dict[str, Any] = json.loads(line)
            if document["format"] != FORMAT:
                raise FormatError(f"format {document['format']!r}, not {FORMAT!r}")
            measured = [Measured(**{name: one[name] for name in names}) for one in document["measured"]]
            found[_case(document["case"])] = tuple(measured)
        except (ValueError, KeyError, TypeError, FormatError) as error:
            raise FormatError(
                f"{path}, line {number}, is no result of this experiment ({error}): delete it and rerun."
            ) from None
    return found
