# SPDX-License-Identifier: Apache-2.0
"""Finds the run that a path names, and points `runs/latest` to the newest; imports nothing slow."""

from __future__ import annotations

import os
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.types import Paradigm

RUNS = "runs"
LATEST = "latest"
RUN_FILE = "run.json"


def located(path: Path) -> Path:
    """The run directory at a path; in a demo's folder, its parallel run.  Raises RunError without one."""
    named = followed(path)
    for run in (named, named / Paradigm.PARALLEL):
        if (run / RUN_FILE).exists():
            return run
    raise no_run(path)


def followed(path: Path) -> Path:
    """The folder that a path names; a text file may replace a link (`point_latest`)."""
    if path.name == LATEST and path.is_file():
        return path.parent / path.read_text(encoding="utf-8").strip()
    return path


def no_run(path: Path) -> RunError:
    """The error for a path without a run, with advice where one could be."""
    inside = sorted(str(file.parent) for file in path.glob(f"*/{RUN_FILE}"))
    advice = f"it holds {' and '.join(inside)}" if inside else "start one with `blockful train`"
    return RunError(f"there is no run in {os.fspath(path)}: {advice}; say which with --run.")


def point_latest(run: Path) -> Path | None:
    """Points the link `latest` in a folder `runs` to the run in it; returns the link, or None elsewhere.

    It is replaced atomically: a relative symbolic link, or a text file on systems without links.

    Raises RunError if neither can be written, or `latest` is a directory of its own.
    """
    runs = run.absolute().parent
    if runs.name != RUNS:
        return None
    latest, waiting = run.parent / LATEST, run.parent / f".{LATEST}.{os.getpid()}"
    target = run.absolute().name
    try:
        waiting.unlink(missing_ok=True)
        try:
            waiting.symlink_to(target, target_is_directory=True)
        except OSError:
            waiting.write_text(target + "\n", encoding="utf-8")
        waiting.replace(latest)
    except OSError as error:
        waiting.unlink(missing_ok=True)
        raise RunError(f"{latest} cannot point to {run}: {error.strerror or error}. Remove it.") from error
    return latest
