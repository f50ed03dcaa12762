# SPDX-License-Identifier: Apache-2.0
"""A server of commands, and the runs that pages presuppose, each made once and copied."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.walkthroughs.page import ROOT, Command
from tests.walkthroughs.place import Place
from tests.walkthroughs.walks import RUNS

Places = Callable[[Path, str], Place]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The socket of a server of commands, in a folder of a short name: a socket's may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="walk") as folder:
        path = str(Path(folder, "socket"))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.walkthroughs.server", path],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield path
        finally:
            process.communicate()
            assert process.returncode == -signal.SIGTERM


@pytest.fixture(scope="session")
def places(server: str, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Makes a place in a folder, with a copy of the run of a name."""
    made: dict[str, Path] = {}

    def place(folder: Path, run: str) -> Place:
        new = Place(folder, server)
        if run:
            if run not in made:
                base, command = RUNS[run]
                maker = place(tmp_path_factory.mktemp(run), base)
                maker.follow([Command(run, command)])
                made[run] = maker.folder / "runs"
            shutil.copytree(made[run], folder / "runs", symlinks=True)
        return new

    return place
