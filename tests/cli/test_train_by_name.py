# SPDX-License-Identifier: Apache-2.0
"""The command `blockful train` with the paper's networks and data sets, on tiny files of their schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blockful_py.pipeline.run.nodes import Nodes
from tests.cli.commands import blockful
from tests.federations import on
from tests.learning import files

TOML = """
[federation]
scenario = "scripted"
situation = "all_hold"
users = 2

[federation.graph]
a = []
b = ["a"]

[learning]
epochs = 1
root_factor = 1
learning_rate = 0.01
batch_size = 8
text_length = 12

[unlearning]
starts = ["a"]
classes = [3]

[committee]
size = 1

[chain]
packaging_interval = 0
"""
TINY_BERT = "{hidden = 16, layers = 1, heads = 2, intermediate = 32, positions = 16}"
CASES: dict[str, dict[str, str]] = {
    "cifar10": {"model": "alexnet"},
    "cifar100": {"model": "resnet18", "options": '{norm = "group"}'},
    "fashion_mnist": {"model": "cnn"},
    "tiny_imagenet": {"model": "mobilenet_v2"},
    "yahoo_answers": {"model": "gcnn", "options": "{embedding = 8, maps = 8}"},
}
BIG = {"cifar100", "tiny_imagenet"}
"""Cases of much training; `test_every_network_on_every_set` has these data sets every time."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by_name")
    (folder / "two.toml").write_text(TOML)
    return folder


def trained(folder: Path, chains: Nodes, run: str, **learning: str) -> Any:
    named = [f"learning.{key}={value}" for key, value in learning.items()]
    sets = [word for each in (*named, *on(chains)) for word in ("--set", each)]
    outcome = blockful(folder, "train", "two.toml", "--run", run, "--json", *sets)
    assert outcome.status == 0, outcome.err + outcome.out
    return outcome.document["models"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in BIG else []) for name in CASES],
)
def test_it_trains_and_publishes(folder: Path, chains: Nodes, name: str) -> None:
    data = files.write(folder / "data" / name, name, 20, 20)
    models = trained(folder, chains, f"runs/{name}", dataset=name, data_files=str(data), **CASES[name])
    assert models.keys() == {"a", "b"}
    assert all(0 <= model["accuracy"] <= 1 for model in models.values())


@pytest.mark.slow
def test_bert_trains_with_a_tokenizer_of_its_own(folder: Path, chains: Nodes) -> None:
    data = files.write_csv(folder / "data" / "csv", 40, 20)
    tokenizer = files.tokenizer(folder / "tokenizer")
    models = trained(
        folder,
        chains,
        "runs/bert",
        dataset="yahoo_answers",
        data_files=str(data),
        model="bert",
        options=TINY_BERT,
        tokenizer=str(tokenizer),
    )
    assert models.keys() == {"a", "b"}
