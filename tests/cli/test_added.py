# SPDX-License-Identifier: Apache-2.0
"""Other packages add commands; the command line works without them and names the package of a missing one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from blockful_py.cli.commands import PACKAGES, SECTIONS, added_sections
from blockful_py.cli.main import command_line
from tests.cli.commands import Outcome

HIDDEN = """
import importlib.metadata as metadata, sys
found = metadata.entry_points
metadata.entry_points = lambda **which: () if which.get("group") == "blockful.commands" else found(**which)
from blockful_py.cli.main import main
main(sys.argv[1:])
"""
TABLE = """
from blockful_py.cli.commands import Command, Group
def greet():
    '''Greet.

    Example: blockful more greet
    '''
    print("hello")
row = Command("greet", "table:greet", "Greet.", package="more_of_it")
other = Command("verify", "table:greet", "Verify nothing.", package="more_of_it")
SECTIONS = {"More": (Group("more", "Do more.", (row,)), other)}
"""


def program(folder: Path, *words: str, script: str = "", path: Path | None = None) -> Outcome:
    """Runs a command in a process, with one more folder of packages on its path."""
    start = ["-c", script] if script else ["-m", "blockful_py.cli.main"]
    paths = [*([str(path)] if path else ()), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, *start, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with an installed package that adds a group, and a command that is there already."""
    folder = tmp_path / "packages"
    (folder / "more_of_it").mkdir(parents=True)
    (folder / "more_of_it" / "__init__.py").touch()
    (folder / "more_of_it" / "table.py").write_text(TABLE, encoding="utf-8")
    about = folder / "more_of_it-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: more-of-it\nVersion: 1.0\n", encoding="utf-8"
    )
    entry = "[blockful.commands]\nmore = more_of_it.table:SECTIONS\n"
    (about / "entry_points.txt").write_text(entry, encoding="utf-8")
    return folder


def test_the_lab_adds_the_commands_that_are_said_to_be_in_it() -> None:
    added = {row.name for rows in added_sections().values() for row in rows}
    assert added >= PACKAGES.keys()
    own = {row.name for rows in SECTIONS.values() for row in rows}
    assert own & added == set()
    development = [row.name for row in command_line().sections["Development"]]
    assert development == ["devnet", "experiment", "simulate"]


def test_a_package_adds_commands_and_replaces_none(tmp_path: Path, package: Path) -> None:
    found = program(tmp_path, "more", "greet", path=package)
    assert (found.status, found.out) == (0, "hello\n")
    listed = program(tmp_path, "--help", path=package)
    assert listed.out.count("  verify ") == 1
    assert "\nMore:\n  more " in listed.out
    assert "genesis" in program(tmp_path, "verify", "--help", path=package).out


def test_a_package_that_cannot_be_imported_breaks_no_other_command(tmp_path: Path, package: Path) -> None:
    (package / "more_of_it" / "table.py").write_text("import nowhere_to_be_found\n", encoding="utf-8")
    listed = program(tmp_path, "--help", path=package)
    assert (listed.status, listed.err.count("warning:")) == (0, 1)
    assert "nowhere_to_be_found" in listed.err
    quiet = program(tmp_path, "--version", path=package)
    assert (quiet.status, quiet.err) == (0, "")


@pytest.mark.parametrize("words", [("experiment", "audit", "--seeds", "5"), ("simulate",)], ids=" ".join)
def test_a_command_whose_package_is_not_installed_says_how_to_get_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    found = program(tmp_path, *words, script=HIDDEN)
    assert (found.status, found.out) == (2, "")
    assert found.error == f"`blockful {words[0]}` is in the package blockful-lab: pip install blockful-lab."
    told = program(tmp_path, *words, "--json", script=HIDDEN)
    assert (told.status, told.document["error"]["kind"], told.err) == (2, "SettingsError", "")
    assert f"  {words[0]} " not in program(tmp_path, "--help", script=HIDDEN).out
