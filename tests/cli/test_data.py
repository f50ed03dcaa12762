# SPDX-License-Identifier: Apache-2.0
"""The command `blockful data` and its plot."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants
from PIL import Image

from blockful_py.learning.datasets import sources
from blockful_py.learning.datasets.idx import IdxFiles
from blockful_py.learning.datasets.registry import DATASETS, SCHEMAS
from blockful_py.report.plots import LIGHT
from blockful_py.report.plots.holdings import Holdings, draw_holdings
from tests.cli.commands import blockful
from tests.learning import files


def test_who_holds_what_is_listed_and_drawn(tmp_path: Path) -> None:
    outcome = blockful(tmp_path, "data", "--plot", "held.png", "--json")
    assert outcome.status == 0, outcome.err
    users = outcome.document["users"]
    assert len(users) == 14
    assert [index for index, row in users.items() if row[3]] == ["5", "7"]
    assert outcome.document["forget"] == [3]
    assert outcome.document["copies"] == {"within": 0, "across": 0, "tested": 0}
    with Image.open(tmp_path / "held.png") as image:
        assert image.format == "PNG" and min(image.size) > 500


def test_it_takes_any_partition_and_data_set(tmp_path: Path) -> None:
    folder = files.write(tmp_path / "cifar10", "cifar10", 80, 60)
    sets = {
        "federation.situation": "label_non_iid",
        "federation.missing": "{1 = [0, 1]}",
        "learning.dataset": "cifar10",
        "learning.data_files": str(folder),
        "federation.scenario": "organic",
        "federation.users": "3",
        "unlearning.starts": '["r1"]',
    }
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    outcome = blockful(tmp_path, "data", *words)
    assert outcome.status == 0, outcome.err
    first = next(line for line in outcome.out.splitlines() if line.startswith("user 1 "))
    assert " 0:" not in first and " 1:" not in first and " 2:" in first
    assert "copies among training samples: " in outcome.out, "both shards of the files are alike"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("learning.dataset=mnist", "there is no data set 'mnist'. Known: cifar10, cifar100"),
        ("federation.situation=half", "federation.situation"),
        ("learning.data_files=nowhere", "comes with the package"),
    ],
)
def test_what_does_not_fit_is_one_error(tmp_path: Path, setting: str, reason: str) -> None:
    outcome = blockful(tmp_path, "data", "--set", setting)
    assert reason in outcome.error
    assert outcome.status == 2


def test_the_data_sets_are_listed_with_what_to_do_to_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = IdxFiles(28, "dataset-fashion-mnist", files.write_idx(tmp_path / "installed"))
    schemas = {**SCHEMAS, "fashion_mnist": replace(SCHEMAS["fashion_mnist"], idx=installed)}
    monkeypatch.setattr(sources, "SCHEMAS", schemas)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "datasets--uoft-cs--cifar10" / "snapshots" / "1").mkdir(parents=True)
    listed = blockful(tmp_path, "data", "--list", "--json").document
    assert set(listed) == set(DATASETS)
    assert listed["digits"]["found"].endswith("digits.csv.gz")
    assert listed["fashion_mnist"]["found"] == str(tmp_path / "installed")
    assert listed["fashion_mnist"]["get"].startswith("apt-get install dataset-fashion-mnist, or zalando-")
    assert listed["cifar10"]["found"] == sources.CACHED
    assert listed["cifar100"]["found"] is None
    said = blockful(tmp_path, "data", "--list").out.splitlines()
    place = next(row for row, line in enumerate(said) if line.startswith("cifar100 "))
    assert said[place].split() == ["cifar100", "not", "found"]
    assert "uoft-cs/cifar100 on the Hugging Face hub" in said[place + 1]


def test_a_plot_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    outcome = blockful(tmp_path, "data", "--plot", "nowhere/held.png")
    assert "nowhere/held.png cannot be written" in outcome.error.replace("\n", " ")


@pytest.mark.parametrize(("users", "classes"), [(3, 10), (60, 20), (100, 200)])
def test_the_plot_is_as_dark_as_there_are_samples(users: int, classes: int) -> None:
    counts = np.zeros((users, classes), dtype=int)
    counts[0, 0] = 1000
    with Image.open(io.BytesIO(draw_holdings(Holdings(counts.tolist(), "made up", (1,), (2,))))) as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 24) or ()}
    wanted = tuple(int(LIGHT.affected[i : i + 2], 16) for i in (1, 3, 5))
    assert any(max(abs(a - b) for a, b in zip(wanted, colour, strict=True)) <= 2 for colour in colours)
