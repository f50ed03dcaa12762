# SPDX-License-Identifier: Apache-2.0
"""A run remembers where the modules that its settings name were found."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.learning.plugins import folders
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.settings import Settings

NET = "own_nets.small:Net"
NETS = Settings.parse({"learning": {"model": NET, "dataset": "digits"}})
PARTY = Party(federation="00" * 32, measuring="m", initial="i", user=1, data="own_data:load")
FINDS = """
import sys
from importlib.util import find_spec
from pathlib import Path
from blockful_py.pipeline.run.directory import RunDirectory
RunDirectory.open(Path(sys.argv[1]))
sys.exit(0 if all(find_spec(name) for name in sys.argv[2:]) else 1)
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a package and a module."""
    folder = tmp_path / "with modules"
    (folder / "own_nets").mkdir(parents=True)
    for file in ("own_nets/__init__.py", "own_nets/small.py", "own_data.py"):
        (folder / file).write_text("raise AssertionError('it is not imported to be found')\n")
    monkeypatch.syspath_prepend(folder)
    return folder


def finds(run: Path, *names: str) -> bool:
    """Whether another process that opens the run finds modules."""
    return subprocess.run([sys.executable, "-c", FINDS, str(run), *names], check=False).returncode == 0


def test_another_process_finds_the_modules_of_a_run(modules: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    RunDirectory.create(run, NETS)
    assert finds(run, "own_nets")


def test_of_others_names_a_party_looks_for_those_that_it_allows(modules: Path, tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", NETS, party=PARTY)
    assert run.allowed_code == frozenset()
    assert finds(run.path, "own_data")
    data = replace(PARTY, data="samples.safetensors")
    assert not finds(RunDirectory.create(tmp_path / "other", NETS, party=data).path, "own_nets")
    allowing = run.allowing([NET])
    assert allowing.allowed_code == RunDirectory.open(run.path).allowed_code == {NET}
    assert finds(run.path, "own_nets", "own_data")


def test_a_run_knows_no_modules_that_it_does_not_name(modules: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    RunDirectory.create(run, Settings())
    assert not finds(run, "own_nets")


def test_only_modules_outside_the_interpreter_have_a_folder(modules: Path) -> None:
    assert folders(["own_nets.small:Net", "own_data:load", "digits"]) == (modules,)
    assert (
        folders(["json:loads", "torch.nn:Linear", "sys:path", "no_such_module:x", ":", "a/b.safetensors"])
        == ()
    )
