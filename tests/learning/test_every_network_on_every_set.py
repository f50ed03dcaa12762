# SPDX-License-Identifier: Apache-2.0
"""Every architecture trains an epoch of two steps on every data set that it fits, by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.datasets.registry import DATASETS
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.registry import MODELS
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import OWN
from blockful_py.learning.together import TrainingJob, train_together
from blockful_py.learning.weights import from_bytes, to_bytes
from blockful_py.settings import DataOptions, TrainingSettings
from tests.learning import files
from tests.learning.test_models import TINY_BERT

CPU = torch.device("cpu")
TEXTS = {"bert": TINY_BERT, "gcnn": {"embedding": 8, "maps": 8}}
PAIRS = [
    (model, dataset)
    for model in sorted(MODELS)
    for dataset in sorted(DATASETS)
    if (model in TEXTS) == (dataset == "yahoo_answers")
    and (dataset != "parties" or model in ("analytic", "mlp"))
]
BIG = {"alexnet", "mobilenet_v2", "resnet18"}
BRIEFLY = {"digits", "cifar10_small"}
"""Sets of grey and of coloured images that big networks always train on; the others are among the slow."""


def _case(model: str, dataset: str) -> Any:
    slow = model in BIG and dataset not in BRIEFLY
    return pytest.param(model, dataset, marks=[pytest.mark.slow] if slow else [], id=f"{model}-{dataset}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of tiny files by data set."""
    base = tmp_path_factory.mktemp("sets")
    (base / "parties").mkdir()
    rows = "".join(f"{n},{n % 3},{n % 2}\n" for n in range(40))
    (base / "parties" / "north.csv").write_text(f"a,b,y\n{rows}", encoding="utf-8")
    written = {name: files.write(base / name, name, 40, 10) for name in files.TABLES}
    return {name: str(path) for name, path in written.items()} | {"parties": str(base / "parties")}


def test_no_network_and_no_data_set_is_left_out() -> None:
    assert {model for model, _ in PAIRS} == set(MODELS)
    assert {dataset for _, dataset in PAIRS} == set(DATASETS)
    assert set(MODELS) > BIG
    assert {dataset for model, dataset in PAIRS if model not in BIG} == set(DATASETS)


@pytest.mark.parametrize(("model", "dataset"), [_case(*pair) for pair in PAIRS])
def test_it_trains(model: str, dataset: str, folders: dict[str, str]) -> None:
    limit = None if dataset == "parties" else 6
    options = DataOptions(folders.get(dataset), data_limit=limit, text_length=12)
    data = load_dataset(dataset, 0, CPU, options)
    architecture = Architecture.of(model, data, TEXTS.get(model))
    initial = architecture.initial(generator(0))
    settings = TrainingSettings(epochs=1, batch_size=3, learning_rate=0.01, weight_decay=0.1)
    (trained,) = train_together(architecture, [TrainingJob(initial, data.train, settings, generator(0))])
    assert all(not torch.equal(trained[name], initial[name]) for name in _learned(architecture, initial))
    assert 0 <= accuracy(architecture, trained, data.test.at(torch.arange(6))) <= 1
    assert from_bytes(to_bytes(trained)).keys() == initial.keys()


def _learned(architecture: Architecture, initial: object) -> list[str]:
    """Weights that a step changes; excludes weights that start at zero and may get no gradient."""
    if architecture.is_sums:
        return [OWN]
    module = architecture.module(initial, CPU)  # type: ignore[arg-type]
    return [name for name, parameter in module.named_parameters() if bool(parameter.any())]
