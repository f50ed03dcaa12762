# SPDX-License-Identifier: Apache-2.0
"""The commands of two pages, typed in order: adopt-a-registry.md, find-models-that-data-reached.md."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.walkthroughs.page import ROOT, commands

FAMILY = Path(__file__).parent / "family" / "models"
PAGES = ("adopt-a-registry.md", "find-models-that-data-reached.md")
LEFT_OUT = ("pip", "blockful explorer")
"""An installation, and a server that runs until it is stopped."""
SAYS = (
    "11 to publish (0 known by name alone)",
    "11 published (0 known by name alone)",
    "lab--base (adapter)",
    "papers  in 1 models",
    "4 of 11 models are reached",
    "certificate: ",
    "3 computed again and published, 0 left",
)


@pytest.mark.slow
def test_the_pages_commands_end_with_a_certificate(tmp_path: Path) -> None:
    shutil.copytree(FAMILY, tmp_path / "models", ignore=shutil.ignore_patterns("slerp"))
    typed = [each.text for page in PAGES for each in commands(ROOT / "docs" / "how-to" / page)]
    typed = [line for line in typed if not line.startswith(LEFT_OUT)]
    assert len(typed) == len(SAYS)
    for line, says in zip(typed, SAYS, strict=True):
        words = [sys.executable, "-m", "blockful_py.cli.main", *shlex.split(line, comments=True)[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert says in done.stdout
