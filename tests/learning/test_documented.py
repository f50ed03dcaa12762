# SPDX-License-Identifier: Apache-2.0
"""The models and data that the documentation shows can be named in settings; the examples are settings."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from blockful_py.learning import plugins
from blockful_py.learning.federation import train_federation
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.settings import Settings
from tests.cli.commands import blockful

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language in a page of the documentation."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


ADDING = "how-to/add-models-data-and-methods.md"
NETS, WINES, _ = blocks(ADDING, "python")
OWN = {
    "learning": {"model": "nets:TwoLayers", "dataset": "wines:load", "epochs": 8},
    "federation": {"situation": "all_hold"},
    "unlearning": {"classes": [1]},
}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the documented modules, on the import path."""
    for text in (NETS, WINES):
        name = re.match(r"# (\w+\.py)\n", text)
        assert name is not None
        (tmp_path / name[1]).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for module in ("nets", "wines"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize("text", [NETS, WINES], ids=["model", "data"])
def test_ones_own_takes_twenty_lines(text: str) -> None:
    assert len([line for line in text.splitlines() if line.strip()]) <= 20


def test_ones_own_model_and_data_train_by_name(own: Path) -> None:
    setup = TrainingSetup.of(Settings.parse(OWN))
    assert setup.architecture.name == "nets:TwoLayers"
    wave = next(iter(train_federation(setup.federation, setup.users)))
    assert all(model.accuracy > 0.6 for model in wave)
    command = blocks(ADDING, "sh")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:5] == ["PYTHONPATH=.", ".venv/bin/blockful", "train", "--run", "runs/wines"]
    outcome = blockful(own, "data", *words[5:])
    assert outcome.status == 0, outcome.err
    assert "'wines', all_hold" in outcome.out


def test_a_package_offers_models_and_data_by_entry_points(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoints(
        (
            EntryPoint("two_layers", "nets:TwoLayers", "blockful.models"),
            EntryPoint("wines", "wines:load", "blockful.datasets"),
        )
    )
    monkeypatch.setattr(plugins, "offered", lambda group: offered.select(group=group))
    named = {**OWN, "learning": {"model": "two_layers", "dataset": "wines"}}
    setup = TrainingSetup.of(Settings.parse(named))
    assert setup.dataset.name == "wines"
    assert plugins.known({"cnn": None}, "blockful.models") == ("cnn", "two_layers")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_are_settings(path: Path) -> None:
    settings = Settings.load(path)
    assert Settings.parse(json.loads(json.dumps(settings.to_json()))) == settings
