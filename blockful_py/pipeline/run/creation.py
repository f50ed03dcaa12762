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
    folder if it is empty and was made here.

    Raises RunError when the folder holds a run or a part of one, or another process makes one there.
    """
    made, lease = _claimed(path)
    with lease:
        try:
            yield
        except BaseException:
            remove(path, PARTS)
            lease.discard()
            if made:
                with suppress(OSError):  # somebody else uses it meanwhile
                    path.rmdir()
            raise


def claim_folder(path: Path) -> None:
    """Makes a folder.  Raises RunError when it exists, or another process makes it at the same time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
    except FileExistsError:
        raise RunError(f"{path} exists: choose another folder, or remove it.") from None
    except OSError as error:
        raise _unusable(path, error) from None


def remove(path: Path, names: Iterable[str]) -> None:
    """Removes entries of a folder, with all that they hold."""
    for name in names:
        entry = path / name
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _claimed(path: Path) -> tuple[bool, Lease]:
    """Whether the folder was made here, and the lead of the run that it is to hold."""
    while True:
        try:
            made = _made(path)
            lease = Lease(path)
        except FileNotFoundError:
            continue  # another process removed the folder that it had made
        except OSError as error:
            raise _unusable(path, error) from None
        try:
            _require_new(path)
        except BaseException:
            lease.discard()
            raise
        return made, lease


def _made(path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
        return False
    return True


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
