# SPDX-License-Identifier: Apache-2.0
"""`blockful data` and its plot."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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
