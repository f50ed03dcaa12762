# SPDX-License-Identifier: Apache-2.0
"""Safe terminal output: text from others cannot control the terminal, and no character is lost."""

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
"""Columns when COLUMNS is 0."""


def printable(text: str) -> str:
    """Replaces unprintable characters by spaces; newlines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else " " for each in text)


class PlainConsole(Console):
    """A console that prints text literally: no markup, emoji codes, highlights or control characters."""

    def __init__(self, **options: Any) -> None:
        columns = os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) == 0:
            options = {"width": WIDTH, **options}
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def show_all_characters() -> None:
    """Escapes characters that the output's encoding lacks, as Python escape sequences."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(ValueError, OSError):  # the stream is closed, or a pipe taken for a file
                stream.reconfigure(errors="backslashreplace")
