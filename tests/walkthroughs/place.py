# SPDX-License-Identifier: Apache-2.0
"""A folder like the repository, in which a shell follows a page."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from blockful_py.chain import persistent
from blockful_py.cli import devnet, up
from blockful_py.cli.local_federation import LocalFederation
from tests.walkthroughs.page import ROOT, Command, script
from tests.walkthroughs.server import client

LINKED = ("blockful_py", "contracts", "deploy", "docs", "Makefile", "node_modules", "scripts")
COPIED = ("benchmarks", "examples")
"""Folders that commands write to."""
SECONDS = 1800
MACHINES = "users = 5\nrounds = 2\ncandidates = 3\nreferences = 2\ncandidate_window = 5\nwave = 5\n"
SMALLER = {
    "paper14.toml": ("[chain]\n", '[learning]\nepochs = 2\n\n[chain]\ndevnet = "embedded"\n'),
    "machines.toml": (MACHINES, MACHINES.replace("5", "2")),
}
"""Replacements of lines in examples, so that they take seconds."""


class Place:
    """Has examples, sources, and `.venv/bin/blockful`, which runs the code under test."""

    def __init__(self, folder: Path, server: str) -> None:
        """Starts a place; `server` is the socket of a `server` of commands."""
        self.folder = folder
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name)
        for name, (lines, others) in SMALLER.items():
            settings = folder / "examples" / name
            text = settings.read_text(encoding="utf-8")
            assert lines in text
            settings.write_text(text.replace(lines, others), encoding="utf-8")
        programs = folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        _program(programs / "blockful", client(server))
        _program(programs / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')

    def follow(self, steps: Iterable[Command]) -> str:
        """Runs commands in one shell; returns their output.

        Ends all processes that the commands leave running.  Fails at the first command that fails.
        """
        path = self.folder / "page.sh"
        path.write_text(script(steps), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        environment |= {"COLUMNS": "200", "NO_COLOR": "1", "BLOCKFUL_PASSPHRASE": "of all parties here"}
        programs = (self.folder / ".venv" / "bin", Path(sys.executable).parent)
        environment["PATH"] = ":".join([*map(str, programs), environment["PATH"]])
        shell = subprocess.Popen(
            ["bash", path],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            shown, _ = shell.communicate(timeout=SECONDS)
        finally:
            self._end(shell)
        assert shell.returncode == 0, shown
        return shown

    def _end(self, shell: subprocess.Popen[str]) -> None:
        """Ends the shell's processes, and the services and chains of this folder."""
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)
        shell.wait(SECONDS)
        if (self.folder / up.FOLDER).exists():
            LocalFederation(self.folder / up.FOLDER, lambda line: None).down()
        persistent.down(self.folder / devnet.FOLDER)


def _program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
