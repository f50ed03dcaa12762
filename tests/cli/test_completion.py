# SPDX-License-Identifier: Apache-2.0
"""Completion is installed by one command, and completes commands, options and their values."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ASK = """
source "$HOME/.bashrc"
complete -p blockful >&2
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_blockful_completion blockful
printf '%s\\n' "${COMPREPLY[@]}"
"""


def shell(home: Path, name: str, script: str, *arguments: str, **environment: str) -> str:
    """The output of a script; it ends with `exit`, so that the shell does not replace itself by the last
    command."""
    program = shutil.which(name)
    if program is None:
        pytest.fail(f"{name} is needed")
    own = {"HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", **environment}
    done = subprocess.run(
        [program, "-c", f"{script}\nexit 0", name, *arguments],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user of bash who has installed completion, twice."""
    made = tmp_path_factory.mktemp("home")
    (made / ".bashrc").write_text("export KEPT=1\n")
    for _ in range(2):
        assert "bash completion installed" in shell(made, "bash", "blockful --install-completion")
    return made


def test_what_the_user_has_is_kept(home: Path) -> None:
    lines = (home / ".bashrc").read_text().split("\n")
    assert lines[0] == "export KEPT=1"
    assert len([line for line in lines if line]) == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ver",), ["verify", "verify-proof"]),
        (("committee", "st"), ["status"]),
        (("unlearn", "--para"), ["--paradigm"]),
        (("unlearn", "--paradigm", "s"), ["sequential"]),
        (("verify", "--run", ""), [""]),
    ],
    ids=" ".join,
)
def test_bash_completes(home: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert shell(home, "bash", ASK, "blockful", *words).splitlines() == expected


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "blockful committee st"}),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "blockful committee st", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        ),
    ],
)
def test_other_shells_are_answered_with_summaries(
    tmp_path: Path, name: str, environment: dict[str, str]
) -> None:
    answer = shell(tmp_path, "bash", "blockful", _BLOCKFUL_COMPLETE=f"complete_{name}", **environment)
    assert "status" in answer
    assert "Show the epoch of both chains" in answer
    assert "committee" not in answer.split("status")[0]
