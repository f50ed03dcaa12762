# SPDX-License-Identifier: Apache-2.0
"""Finds models and data sets by name: built in, registered by other packages, or given by import path
(`package.module:object`)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeVar

from blockful_py.errors import SettingsError

Plugin = TypeVar("Plugin")


def known(builtin: Mapping[str, Plugin], group: str) -> tuple[str, ...]:
    """Names that `find` knows without an import path, ascending."""
    return tuple(sorted({*builtin, *entry_points(group=group).names}))


def find(name: str, what: str, builtin: Mapping[str, Plugin], group: str) -> Plugin:
    """The object of a name: built in, of an entry point of `group`, or of an import path.

    Args:
        what: what the object is, for errors: "model" or "data set".

    Raises:
        SettingsError: no object has this name (lists the known ones), or it cannot be imported.
    """
    if name in builtin:
        return builtin[name]
    entries = entry_points(group=group, name=name)
    module, separator, attribute = name.partition(":")
    try:
        if entries:
            loaded: Plugin = next(iter(entries)).load()
            return loaded
        if separator:
            named: Plugin = getattr(import_module(module), attribute)
            return named
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SettingsError(
            f"{what} {name!r} cannot be imported ({error}): "
            "install its package, or put its folder on PYTHONPATH."
        ) from None
    raise SettingsError(
        f"there is no {what} {name!r}. Known: {', '.join(known(builtin, group))}; "
        "one of your own is named as package.module:object."
    )
