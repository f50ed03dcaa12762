# SPDX-License-Identifier: Apache-2.0
"""Packages `learning` and `unlearning` import and run without chains and extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

ABSENT = (
    "web3",
    "brownie",
    "eth_abi",
    "coincurve",
    "pydantic",
    "transformers",
    "datasets",
    "opacus",
    "pyarrow",
    "PIL",
)

HOOK = f"""
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f'{{name}} is not installed here', name=name)

sys.meta_path.insert(0, Refuse())
"""

IMPORTS = """
import importlib, pkgutil
for room in ('learning', 'unlearning'):
    package = importlib.import_module(f'blockful_py.{room}')
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):
        importlib.import_module(module.name)
"""

RUNS = """
import torch
from blockful_py.settings import DataOptions, FederationSettings, TrainingSettings
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.forget import Forget
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask

torch.set_num_threads(1)
slow = 'sympy' in sys.modules
data = load_dataset('digits', 0, torch.device('cpu'), DataOptions(data_limit=200))
users = partition(data, Division(FederationSettings(situation='iid', users=2), (1,), (3,)), 0)
graph = {'a': (), 'b': ('a',)}
settings = FederationSpec(
    Architecture.of('cnn', data),
    FederationSettings('scripted', users=2, graph=graph),
    TrainingSettings(epochs=1),
    starting_users=(1,),
)
models = [model for wave in train_federation(settings, users) for model in wave]
task = UnlearningTask.of(settings, models, users, ['a'], Forget.of_classes([3]))
assert create_method('gradient_ascent').unlearn(task).weights.keys() == {'a', 'b'}
assert ('sympy' in sys.modules) == slow, 'a part of torch was used that takes a second to import'
Architecture('resnet18', (3, 32, 32), 10), Architecture('gcnn', (8,), 2, 9)
"""

REFUSES = """
from blockful_py.errors import SettingsError
from blockful_py.learning.privacy import epsilon_of
from blockful_py.learning.datasets.texts import tokenizer
for extra, use in (
    ('text', lambda: Architecture('bert', (8,), 2, 9)),
    ('text', lambda: tokenizer(DataOptions(tokenizer='bert-base-cased'))),
    ('data', lambda: load_dataset('cifar10', 0, torch.device('cpu'))),
    ('privacy', lambda: epsilon_of(1.0, 0.1, 10, 1e-5)),
):
    try:
        use()
    except SettingsError as error:
        assert f"pip install 'blockful[{extra}]'" in str(error), error
    else:
        raise AssertionError(f'extra {extra} was not missed')
print('all of it')
"""


def bare(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HOOK + program], capture_output=True, text=True, check=False, timeout=600
    )


def test_learning_and_unlearning_run_without_chains_and_extras() -> None:
    result = bare(IMPORTS + RUNS + REFUSES)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "all of it\n"


@pytest.mark.parametrize("name", ABSENT)
def test_an_import_of_what_is_not_there_fails_the_check(name: str) -> None:
    result = bare(f"import {name}")
    assert result.returncode != 0
    assert f"{name} is not installed here" in result.stderr
