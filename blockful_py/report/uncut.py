# SPDX-License-Identifier: Apache-2.0
"""Prints tables from which can be copied on a narrow terminal."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement

from blockful_py.terminal import PlainConsole

WIDEST = 10_000
"""Columns; no table is as wide."""


def print_uncut(console: Console, what: RenderableType, folded: bool = False) -> None:
    """Prints tables whose cells are not cut, however narrow the terminal is.

    `folded`: text that may be folded is, where the terminal is narrow.
    """
    wide = PlainConsole(file=console.file, width=WIDEST, force_terminal=console.is_terminal)
    needed = Measurement.get(wide, wide.options, what)
    wide.width = max(needed.minimum if folded else needed.maximum, console.width)
    wide.print(what)
