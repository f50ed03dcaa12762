# SPDX-License-Identifier: Apache-2.0
"""Runs `blockful` as its users do, in a folder of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from blockful_py.cli.main import main

BLOCKFUL = (sys.executable, "-m", "blockful_py.cli.main")
SECONDS = 600.0
WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Outcome:
    """A command's exit status and output."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as exactly one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one error that was printed, without a traceback."""
        assert "Traceback" not in self.err, self.err
        assert self.err.count("error:") == 1, self.err
        return self.err.split("error:")[1].strip()


def blockful(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Outcome:
    """Runs a command in `folder` to its end, inside this process: its imports cost seconds.

    Any exception that the command line would print as a traceback is raised here.
    """
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in {**WIDE, **(environment or {})}.items():
            patch.setenv(name, value)
        os.chdir(folder)
        try:
            main(list(arguments))
        except SystemExit as end:
            status = end.code
        finally:
            os.chdir(before)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), "the command left signals blocked"
    assert isinstance(status, int)
    return Outcome(status, out.getvalue(), err.getvalue())


def blockful_process(folder: Path, *arguments: str) -> Outcome:
    """Runs a command in `folder` to its end, in a process of its own."""
    process = begin(folder, *arguments)
    out, err = process.communicate(timeout=SECONDS)
    return Outcome(process.returncode, out, err)


def told(folder: Path, *arguments: str) -> Any:
    """What a command prints with --json; it must succeed."""
    outcome = blockful_process(folder, *arguments, "--json")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


def begin(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts a command in `folder`, in a session of its own."""
    return subprocess.Popen(
        [*BLOCKFUL, *arguments],
        cwd=folder,
        env={**os.environ, **WIDE},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_line(process: subprocess.Popen[str], words: str) -> None:
    """Reads a command's output up to a line that contains `words`."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"the command ended without saying {words!r}")


def end(process: subprocess.Popen[str], how: signal.Signals) -> Outcome:
    """Sends a signal to the command alone and waits for its end."""
    process.send_signal(how)
    out, err = process.communicate(timeout=SECONDS)
    return Outcome(process.returncode, out, err)


def nodes_of(folder: Path) -> list[int]:
    """Process ids of development nodes that keep their chains below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                here = (entry / "cwd").readlink()
            except OSError:
                continue
            paths = [word.partition("=")[2] for word in words if word.startswith("--database.dbPath=")]
            if any((here / path).is_relative_to(folder) for path in paths):
                found.append(int(entry.name))
    return found
