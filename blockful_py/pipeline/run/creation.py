# SPDX-License-Identifier: Apache-2.0
"""Claims the folder of a new run for one process, and removes only files that this process created."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.pipeline.run.directory import PARTS
from blockful_py.pipeline.run.lease import Lease

FIRST = frozenset({"chains", "deployments"})
"""The parts of a run that are made before its run.json."""


@contextmanager
def creating(path: Path) -> Iterator[None]:
    """Holds the lease of a new run in the folder `path` until the block has made it.

    On failure, removes the parts of the run and the empty folders that this call created.

    Raises RunError when the folder holds a complete or partial run, or another process is making one there.
    """
    made, lease = _claimed(path)
    with lease:
        try:
            yield
        except BaseException:
            remove(path, PARTS)
            lease.discard()
            remove_empty(made)
            raise


def claim_folder(path: Path) -> list[Path]:
    """Makes a folder; returns it and its newly made parents, innermost first.

    Raises RunError when it exists, or another process makes it at the same time.
    """
    try:
        made = _missing_made(path)
    except OSError as error:
        raise _unusable(path, error) from None
    if path not in made:
        raise RunError(f"{path} exists: choose another folder, or remove it.")
    return made


def remove_empty(folders: Iterable[Path]) -> None:
    """Removes folders, innermost first; stops at a folder that another process uses."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def remove(path: Path, names: Iterable[str]) -> None:
    """Removes entries of a folder, recursively."""
    for name in names:
        entry = path / name
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _claimed(path: Path) -> tuple[list[Path], Lease]:
    """The newly made folders, innermost first, and the lease of the run to be made."""
    while True:
        try:
            made = _missing_made(path)
            lease = Lease(path)
        except FileNotFoundError:
            continue  # another process removed its folder again
        except OSError as error:
            raise _unusable(path, error) from None
        try:
            _require_new(path)
        except BaseException:
            lease.discard()
            remove_empty(made)
            raise
        return made, lease


def _missing_made(path: Path) -> list[Path]:
    """Makes a folder and its missing parents; returns the newly made ones, innermost first."""
    made: list[Path] = []
    for folder in (*reversed(path.parents), path):
        if folder.is_dir():
            continue
        try:
            folder.mkdir()
        except FileExistsError:
            if not folder.is_dir():
                raise
        else:
            made.insert(0, folder)
    return made


def _require_new(path: Path) -> None:
    there = [name for name in PARTS if (path / name).exists()]
    if "run.json" in there:
        raise RunError(f"{path} holds a run already: choose another folder, or go on with that run.")
    if there:
        advice = (
            "the making of a run was broken off there, before it had models: remove the folder"
            if FIRST.issuperset(there)
            else "put that file back from a copy"
        )
        raise RunError(f"{path} holds {', '.join(there)} and no run.json: {advice}, or choose another one.")


def _unusable(path: Path, error: OSError) -> RunError:
    return RunError(f"{path} cannot be made: {error.strerror}; choose another folder.")
