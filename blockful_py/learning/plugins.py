# SPDX-License-Identifier: Apache-2.0
"""Finds models, data sets, methods and callbacks by name.

A name is built in, registered by another package, or an import path (`package.module:object`).
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from errno import ENOSPC
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from blockful_py.errors import BlockfulError, SettingsError

Plugin = TypeVar("Plugin")

INSTALLED = frozenset(Path(folder).resolve() for folder in sysconfig.get_paths().values())
"""Folders of the interpreter and its packages, which are always on the path."""


@cache
def offered(group: str) -> EntryPoints:
    """The entry points of installed packages; read once, since every network is built by its name."""
    return entry_points(group=group)


def known(builtin: Mapping[str, Plugin], group: str) -> tuple[str, ...]:
    """Names that `find` knows without an import path, ascending."""
    return tuple(sorted({*builtin, *offered(group).names}))


def find(name: str, what: str, builtin: Mapping[str, Plugin], group: str) -> Plugin:
    """The object of a name: built in, an entry point of `group`, or an import path.

    Args:
        what: kind of object, for error messages, such as "model".

    Raises SettingsError: no object has this name (lists the known ones), or it cannot be imported.
    """
    if name in builtin:
        return builtin[name]
    entries = offered(group).select(name=name)
    if not entries and ":" not in name:
        raise SettingsError(
            f"there is no {what} {name!r}. Known: {', '.join(known(builtin, group))}; "
            "name custom code as package.module:object."
        )
    with _importing(name, what):
        loaded: Plugin = next(iter(entries)).load() if entries else imported(name)
        return loaded


def require_importable(names: Iterable[str], what: str) -> None:
    """Checks that all names are import paths of importable objects.  Raises SettingsError."""
    for name in names:
        if ":" not in name:
            raise SettingsError(
                f"{name!r} is not custom code for a {what}: name it as package.module:object."
            )
        with _importing(name, what):
            imported(name)


def imported(path: str) -> Any:
    """The object of an import path.  Raises ImportError or AttributeError if it cannot be imported."""
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


@contextmanager
def failing_as(kind: type[BlockfulError], what: str) -> Iterator[None]:
    """Turns any error of users' own code into an error of this package, which ends the job.

    A full disk is not an error of that code: it propagates, and the job resumes once there is room.
    """
    try:
        yield
    except BlockfulError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno == ENOSPC:
            raise
        said = next(iter(str(error).splitlines()), "")
        raise kind(f"{what} failed ({type(error).__name__}): {said}") from error


@contextmanager
def _importing(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{what} {name!r} cannot be imported ({error}): "
            "install its package, or put its folder on PYTHONPATH; a run remembers where it was."
        ) from None


def folders(names: Iterable[str]) -> tuple[Path, ...]:
    """Folders of the modules of import paths, without the interpreter's own folders, ascending.

    Imports no module, and skips modules that it cannot find.
    """
    modules = {name.partition(":")[0].partition(".")[0] for name in names if ":" in name}
    found = {folder for module in modules if (folder := _folder(module)) is not None}
    return tuple(sorted(found - INSTALLED))


def _folder(module: str) -> Path | None:
    """The folder of a top-level module or package."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations is not None:
        return Path(next(iter(spec.submodule_search_locations))).resolve().parent
    return Path(spec.origin).resolve().parent if spec.has_location and spec.origin else None
