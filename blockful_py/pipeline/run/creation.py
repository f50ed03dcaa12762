# SPDX-License-Identifier: Apache-2.0
"""Claims the folder of a new run: one process makes it, and removes nothing that it did not make."""

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
    """Holds the lead of a new run in the folder `path` until the block has made it.

    Where the block fails, the parts of the run are removed, which the folder did not have before, and the
    folders that were made here, as far as they are empty.

    Raises RunError when the folder holds a run or a part of one, or another process makes one there.
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
    """Makes a folder; returns it and the parents that were missing, innermost first.

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
    """Removes folders, innermost first; leaves those that somebody else uses meanwhile."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def remove(path: Path, names: Iterable[str]) -> None:
    """Removes entries of a folder, with all that they hold."""
    for name in names:
        entry = path / name
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _claimed(path: Path) -> tuple[list[Path], Lease]:
    """The folders that were made here, innermost first, and the lead of the run that the first is to hold."""
    while True:
        try:
            made = _missing_made(path)
            lease = Lease(path)
        except FileNotFoundError:
            continue  # another process removed the folder that it had made
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
    """Makes a folder and its missing parents; returns those that it made, innermost first."""
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
