# SPDX-License-Identifier: Apache-2.0
"""The programs and commands of train-language-models.md: adapters of a language model, one owner leaves."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.walkthroughs.page import ROOT, commands

PAGE = ROOT / "docs" / "how-to" / "train-language-models.md"
SAYS = ("", "train and publish: 5 models", "subtract, exact given the graph", "5 models checked, 0 failed")


@pytest.mark.slow
def test_an_owner_leaves_the_pages_language_models(tmp_path: Path) -> None:
    for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (tmp_path / text.split()[1]).write_text(text, encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"notes.py", "base.py"}
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])}
    for command, says in zip(commands(PAGE), SAYS, strict=True):
        words = shlex.split(command.text)
        words = [word for word in words if "=" not in word or word.startswith("--")]
        program = ["-m", "blockful_py.cli.main"] if words[0].endswith("blockful") else []
        done = subprocess.run(
            [sys.executable, *program, *words[1:]],
            cwd=tmp_path,
            env=there,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert says in " ".join((done.stdout + done.stderr).split())
