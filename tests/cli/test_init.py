# SPDX-License-Identifier: Apache-2.0
"""The examples of `blockful init` can be read, and existing files are not overwritten."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from blockful_py.settings import Settings
from tests.cli.commands import blockful

EXAMPLES = resources.files("blockful_py") / "examples"
NAMES = sorted(Path(each.name).stem for each in EXAMPLES.iterdir() if each.name.endswith(".toml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_written_and_can_be_read(tmp_path: Path, name: str) -> None:
    outcome = blockful(tmp_path, "init", name, "--json")
    assert outcome.status == 0
    assert json.loads(outcome.out) == {"settings": f"{name}.toml"}
    Settings.load(tmp_path / f"{name}.toml")


@pytest.mark.parametrize(("name", "command"), [("machines", "up"), ("organic", "train")])
def test_the_command_for_the_settings_is_named(tmp_path: Path, name: str, command: str) -> None:
    shown = blockful(tmp_path, "init", name).out
    assert f"\n  blockful {command} {name}.toml\n" in shown


def test_the_help_names_every_example(tmp_path: Path) -> None:
    text = blockful(tmp_path, "init", "--help").out
    assert [name for name in NAMES if name not in text] == []


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("seed = 7\n")
    outcome = blockful(tmp_path, "init", "--output", "mine.toml")
    assert outcome.status == 2
    assert "mine.toml exists and was not changed: choose another --output" in outcome.err
    assert (tmp_path / "mine.toml").read_text() == "seed = 7\n"


def test_an_example_that_does_not_exist(tmp_path: Path) -> None:
    outcome = blockful(tmp_path, "init", "paper15")
    assert outcome.status == 2
    assert f"there is no example 'paper15': choose one of {', '.join(NAMES)}." in outcome.err
    assert list(tmp_path.iterdir()) == []
