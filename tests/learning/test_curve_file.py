# SPDX-License-Identifier: Apache-2.0
"""Curves beside a run stay whole, even if their writer is stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from blockful_py.errors import RunError
from blockful_py.learning.curve_file import keep_curves, kept_curves
from blockful_py.learning.curves import Curve
from blockful_py.learning.federation import TrainedModel
from blockful_py.settings import TrainingSettings

FIRST, SECOND = Curve((2.0, 0.5), (0.25, 0.75)), Curve((1.5,), (1.0,))


def model(name: str, curve: Curve | None) -> TrainedModel:
    return TrainedModel(name, 1, 1, (), {"w": torch.zeros(1)}, 0.5, TrainingSettings(), curve=curve)


def test_curves_come_back_wave_after_wave(tmp_path: Path) -> None:
    path = tmp_path / "curves.jsonl"
    assert kept_curves(path) == {}
    keep_curves(path, [model("r1", FIRST), model("private", None)])
    keep_curves(path, [model("../r2", SECOND)])
    assert kept_curves(path) == {"r1": FIRST, "../r2": SECOND}


def test_a_wave_that_is_trained_once_more_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "curves.jsonl"
    for _ in range(2):
        keep_curves(path, [model("r1", FIRST)])
    assert kept_curves(path) == {"r1": FIRST}


@pytest.mark.parametrize("lost", [1, 10, 40])
def test_a_line_that_a_crash_left_unfinished_is_written_again(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "curves.jsonl"
    keep_curves(path, [model("r1", FIRST), model("r2", SECOND)])
    path.write_bytes(path.read_bytes()[:-lost])
    assert kept_curves(path) == {"r1": FIRST}
    keep_curves(path, [model("r2", SECOND)])
    assert kept_curves(path) == {"r1": FIRST, "r2": SECOND}


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[]",
        "not json",
        '{"name": "r2", "loss": [1.0], "accuracy": []}',
        '{"name": "r2", "loss": [1.0], "accuracy": [40]}',
        '{"name": "r2", "loss": 1, "accuracy": [0.5]}',
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "curves.jsonl"
    keep_curves(path, [model("r1", FIRST)])
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(
        RunError, match=r"curves\.jsonl, line 2, is not a learning curve .* take the line out"
    ):
        kept_curves(path)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        keep_curves(tmp_path / "nowhere" / "curves.jsonl", [model("r1", FIRST)])
    with pytest.raises(RunError, match="cannot be read"):
        kept_curves(tmp_path)
