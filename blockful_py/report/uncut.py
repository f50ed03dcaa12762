# SPDX-License-Identifier: Apache-2.0
"""Prints tables so that they can be copied even from a narrow terminal."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.measure import Measurement

from blockful_py.terminal import PlainConsole

WIDEST = 10_000
"""Columns, more than any table needs."""


def print_uncut(console: Console, what: RenderableType, folded: bool = False) -> None:
    """Prints tables without truncating cells, however narrow the terminal is.

    With `folded`, text that may wrap does so on a narrow terminal.
    """
    wide = PlainConsole(file=console.file, width=WIDEST, force_terminal=console.is_terminal)
    needed = Measurement.get(wide, wide.options, what)
    wide.width = max(needed.minimum if folded else needed.maximum, console.width)
    wide.print(what)
