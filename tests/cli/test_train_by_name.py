# SPDX-License-Identifier: Apache-2.0
"""`blockful train` with the paper's networks and data sets, by name, on tiny files of their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import blockful
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two chains that all commands use."""
    folder = tmp_path_factory.mktemp("by_name")
    (folder / "two.toml").write_text(TOML)
    up = blockful(folder, "devnet", "up")
    assert up.status == 0, up.err
    yield folder
    blockful(folder, "devnet", "down")


def trained(folder: Path, run: str, **learning: str) -> Any:
    sets = [word for key, value in learning.items() for word in ("--set", f"learning.{key}={value}")]
    outcome = blockful(folder, "train", "two.toml", "--run", run, "--json", *sets)
    assert outcome.status == 0, outcome.err + outcome.out
    return outcome.document["models"]


@pytest.mark.parametrize("name", CASES)
def test_it_trains_and_publishes(folder: Path, name: str) -> None:
    data = files.write(folder / "data" / name, name, 20, 20)
    models = trained(folder, f"runs/{name}", dataset=name, data_files=str(data), **CASES[name])
    assert models.keys() == {"a", "b"}
    assert all(0 <= model["accuracy"] <= 1 for model in models.values())


def test_bert_trains_with_a_tokenizer_of_its_own(folder: Path) -> None:
    data = files.write_csv(folder / "data" / "csv", 40, 20)
    tokenizer = files.tokenizer(folder / "tokenizer")
    models = trained(
        folder,
        "runs/bert",
        dataset="yahoo_answers",
        data_files=str(data),
        model="bert",
        options=TINY_BERT,
        tokenizer=str(tokenizer),
    )
    assert models.keys() == {"a", "b"}
