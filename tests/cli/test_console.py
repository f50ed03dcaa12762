# SPDX-License-Identifier: Apache-2.0
"""Output can be copied at any width; progress is a few lines in a log, and absent with --json."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.stages import drawn, logged

HASH = "0x" + "ab" * 32
ODD = Path("runs/my [bold]run[/bold] :smile: 'x'")


@pytest.fixture(params=[40, 80])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    assert isinstance(request.param, int)
    return request.param


def test_a_command_is_one_line_that_a_shell_reads_back(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ("blockful", "verify-proof", ODD, "--block-hash", HASH, "--archive-head", HASH)
    Output(False).command(*words)
    (line,) = capsys.readouterr().out.splitlines()
    assert len(line) > columns
    assert shlex.split(line) == list(map(str, words))


def test_text_is_printed_as_it_is(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = f"{ODD}: 1 of 2 models at http://127.0.0.1:8000/ with head {HASH} and more words than fit a line"
    out = Output(False)
    out.say(text)
    out.progress(text)
    out.problem("member", text)
    shown = capsys.readouterr()
    assert shown.out == f"{text}\n"
    assert shown.err == f"  {text}\nmember: {text}\n"


def test_cells_are_neither_folded_nor_cut(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("position", "transaction", "node", box=None, pad_edge=False)
    table.add_row("1:0", HASH, f"[x] {HASH}")
    Output(False).say(table)
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["position", "transaction", "node"]
    assert row.split() == ["1:0", HASH, "[x]", HASH]


@pytest.mark.parametrize("arguments", [{"as_json": True}, {"as_json": False, "quiet": True}], ids=str)
def test_progress_is_silent_where_nobody_wants_it(
    arguments: dict[str, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    out = Output(**arguments)
    with out.stage("train and publish", 3) as advance:
        advance(3)
    out.progress("the committee is elected")
    assert capsys.readouterr() == ("", "")
    out.problem("member", "it is silent")
    assert capsys.readouterr() == ("", "member: it is silent\n")


def test_elsewhere_than_on_a_terminal_a_stage_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Output(False).stage("train and publish", 3) as advance:
        advance(3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "  train and publish: 3 models ..."
    assert "\x1b" not in "".join(lines)


class Ticking:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_fewer_lines_as_a_stage_takes_longer() -> None:
    clock, lines = Ticking(), list[str]()
    with logged(lines.append, "train and publish", 3600, "models", clock) as advance:
        for _ in range(3600):
            clock.now += 1.0
            advance(1)
    assert lines[0] == "train and publish: 3600 models ..."
    assert lines[1] == "train and publish: 10 of 3600 models, 1.0 models/s, about 59 min 50 s left"
    assert lines[2].startswith("train and publish: 30 of 3600 models")
    assert lines[-1] == "train and publish: 3600 models in 1 h 00 min"
    assert len(lines) < 20


def test_a_stage_that_nobody_counts_says_how_long_it_took() -> None:
    clock, lines = Ticking(), list[str]()
    with logged(lines.append, "start two chains", None, "models", clock):
        clock.now += 70.0
    assert lines == ["start two chains ...", "start two chains: done in 1 min 10 s"]


def test_a_stage_that_fails_is_not_called_done() -> None:
    clock, lines = Ticking(), list[str]()
    with pytest.raises(ValueError), logged(lines.append, "verify", 9, "models", clock):
        clock.now += 70.0
        raise ValueError
    assert lines == ["verify: 9 models ..."]


@pytest.fixture
def terminal(columns: int) -> Iterator[Console]:
    yield Console(file=io.StringIO(), width=columns, force_terminal=True, color_system=None)


def test_a_terminal_shows_steps_and_rest_in_one_line(terminal: Console) -> None:
    clock = Ticking()
    title = "publish the same models once more, for the second paradigm"
    with drawn(terminal, title, 14, "models", clock) as advance:
        for _ in range(7):
            clock.now += 1.0
            advance(1)
    assert isinstance(terminal.file, io.StringIO)
    shown = terminal.file.getvalue().replace("\x1b[2K", "\n").replace("\r", "\n").splitlines()
    drawings = [line for line in shown if "7 of 14 models" in line]
    assert drawings
    assert all(len(line) <= terminal.width for line in drawings)
    assert shown[-1] == f"  {title}: 7 models in 7.0 s"
