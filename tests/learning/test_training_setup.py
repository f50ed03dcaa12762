# SPDX-License-Identifier: Apache-2.0
"""Data, partition and model as the settings name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.settings import Settings
from tests.federations import small
from tests.learning import files


def test_data_and_model_are_found_by_name(tmp_path: Path) -> None:
    folder = str(files.write(tmp_path, "cifar10", 60, 40))
    learning = {
        "dataset": "cifar10",
        "data_files": folder,
        "data_limit": 50,
        "model": "resnet18",
        "options": {"norm": "group"},
    }
    setup = TrainingSetup.of(small(learning=learning))
    assert setup.architecture.name == "resnet18"
    assert setup.architecture.options == (("norm", "group"),)
    assert setup.dataset.input_shape == (3, 32, 32)
    assert sum(len(user.train) for user in setup.users) == len(setup.dataset.train) <= 50


def test_texts_are_cut_to_the_length_of_the_settings(tmp_path: Path) -> None:
    learning = {
        "dataset": "yahoo_answers",
        "data_files": str(files.write(tmp_path, "yahoo_answers", 60, 40)),
        "text_length": 16,
        "model": "gcnn",
        "options": {"embedding": 8, "maps": 8},
    }
    setup = TrainingSetup.of(small(learning=learning))
    assert setup.architecture.input_shape == (16,)
    assert setup.architecture.vocabulary == setup.dataset.vocabulary == 30_000


@pytest.mark.parametrize(
    "federation",
    [
        {"situation": "iid"},
        {"situation": "sample_non_iid"},
        {"situation": "label_non_iid", "missing": {"1": [0, 1], "2": [2]}},
        {"situation": "dirichlet", "concentration": 1.0},
        {"situation": "shards", "shards": 3},
    ],
    ids=lambda value: value["situation"],
)
def test_partitions_are_found_by_name(federation: dict[str, Any]) -> None:
    settings = small(federation=federation)
    setup = TrainingSetup.of(settings)
    assert sum(len(user.train) for user in setup.users) == 1150
    assert Settings.parse(json.loads(json.dumps(settings.to_json()))) == settings
    if federation["situation"] == "label_non_iid":
        assert not {0, 1} & set(setup.users[0].train.classes())


CROWD: dict[str, Any] = {
    "federation": {"scenario": "organic", "users": 401, "graph": None},
    "unlearning": {"starts": ("r1",)},
}


@pytest.mark.parametrize(
    ("sections", "kind", "reason"),
    [
        ({"learning": {"dataset": "mnist"}}, SettingsError, "Known: cifar10"),
        ({"learning": {"model": "vgg"}}, SettingsError, "Known: alexnet"),
        ({"learning": {"model": "gcnn"}}, SettingsError, "reads texts, the data are images"),
        (CROWD, LearningError, "user 401 would be without test samples"),
        ({"federation": {"situation": "label_non_iid"}}, SettingsError, "federation.missing"),
    ],
)
def test_what_does_not_fit_is_refused(sections: dict[str, Any], kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind, match=reason):
        TrainingSetup.of(small(**sections))


def test_an_unknown_situation_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"few_hold.*all_hold.*dirichlet"):
        small(federation={"situation": "half"})
