# SPDX-License-Identifier: Apache-2.0
"""Foreign text controls no terminal; one that lacks characters, columns or space gets reduced output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from blockful_py.cli.console import Output
from blockful_py.names import name_fault
from blockful_py.report.uncut import print_uncut
from blockful_py.terminal import PlainConsole, printable

RED = "\x1b[31mname\x1b]0;title\x07\x9b2J\u202e"
BLOCKFUL = "import sys; from blockful_py.cli.main import main; main(sys.argv[1:])"


def blockful(
    *words: str, out: int | None = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A command as a process, with its own environment and standard output."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKFUL, *words],
        stdout=out,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("coloured", [False, True])
def test_others_words_control_no_terminal(
    coloured: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
    table = Table(RED, "second")
    table.add_row(RED, Text(RED, "red"))
    out = Output(False)
    out.say(RED, Text(RED), table)
    out.plain(RED)
    out.problem(RED, RED)
    out.progress(RED)
    print_uncut(PlainConsole(), table)
    shown = "".join(capsys.readouterr())
    assert "name" in shown
    for control in ("\x1b[31mname\x1b]", "\x1b]", "\x07", "\x9b", "\u202e"):
        assert control not in shown


def test_lines_and_tabs_stay() -> None:
    assert printable("a\n\tb\r\x1b") == "a\n\tb  "


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_characters_that_the_output_lacks_are_written_otherwise(encoding: str) -> None:
    code = (
        "from blockful_py.terminal import show_all_characters; show_all_characters()\n"
        "from blockful_py.cli.console import Output; Output(False).say('ε ≤ Łódź ✓')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2713" in done.stdout


def test_no_columns_are_eighty(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    table = Table("name")
    table.add_row("r1")
    Output(False).say("a line", table)
    shown = capsys.readouterr().out
    assert "a line" in shown and "r1" in shown


def test_a_full_disk_is_an_error_and_no_traceback() -> None:
    for words in (("data", "--list"), ("--version",)):
        with Path("/dev/full").open("wb") as full:
            done = blockful(*words, out=full.fileno())
        assert done.returncode == 1
        assert done.stderr == b"error: the output could not be written: No space left on device.\n"


def test_python_without_docstrings_runs_commands_and_shows_help() -> None:
    assert blockful("data", "--list", PYTHONOPTIMIZE="2").returncode == 0
    assert b"--set" in blockful("train", "--help", PYTHONOPTIMIZE="2").stdout


@pytest.mark.parametrize(
    "name", ["", "x" * 65, "a\x1b[31m", "../up", "a/b", "a\\b", ".a", "-a", " a", "a ", "a\u202eb"]
)
def test_what_is_no_name(name: str) -> None:
    assert name_fault(name)


@pytest.mark.parametrize("name", ["r1", "Łódź 2", "x" * 64, "a.b-c_d", "模型"])
def test_names(name: str) -> None:
    assert name_fault(name) is None
