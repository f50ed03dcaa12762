# SPDX-License-Identifier: Apache-2.0
"""Text for people's terminals: others' words control none, and one that lacks characters shows them all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

WIDTH = 80
"""Columns where COLUMNS says that there are none."""


def printable(text: str) -> str:
    """Text whose characters can all be printed; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else " " for each in text)


class PlainConsole(Console):
    """A console that takes text as it is: no markup, no emoji codes, no highlights, no control characters."""

    def __init__(self, **options: Any) -> None:
        columns = os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) == 0:
            options = {"width": WIDTH, **options}
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def show_all_characters() -> None:
    """Has this process write characters that its output's encoding lacks as escape sequences of Python."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(ValueError, OSError):  # it is closed, or a pipe that is taken for a file
                stream.reconfigure(errors="backslashreplace")
