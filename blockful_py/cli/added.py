# SPDX-License-Identifier: Apache-2.0
"""Commands that other installed packages add through the entry points `blockful.commands`."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import entry_points

from blockful_py.cli.commands import Command, Group, Sections
from blockful_py.terminal import printable

ENTRY_POINTS = "blockful.commands"
"""The group of entry points; each is a `Sections`."""

LAB = "blockful-lab"
PACKAGES = {"experiment": LAB, "simulate": LAB}
"""The package of each command of this project that `blockful` leaves out."""


@cache
def added_sections() -> Sections:
    """The commands that installed packages add.

    Warns about a package that cannot be imported, and leaves it out.
    """
    found: dict[str, tuple[Command | Group, ...]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            sections: Sections = entry.load()
        except ImportError as error:
            sys.stderr.write(
                printable(f"warning: {entry.value} has commands and cannot be loaded: {error}\n")
            )
            continue
        found |= {heading: (*found.get(heading, ()), *rows) for heading, rows in sections.items()}
    return found
