# SPDX-License-Identifier: Apache-2.0
"""Output of the commands: text or JSON on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Output:
    """One command's output; with `as_json`, exactly one JSON document on stdout."""

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json
        self._quiet = quiet or as_json
        self._out = Console(highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, highlight=False)

    def say(self, *parts: RenderableType) -> None:
        """Prints text, unless the command prints JSON."""
        if not self.as_json:
            for part in parts:
                self._out.print(part)

    def command(self, text: str) -> None:
        """Prints a command that can be copied: it is not wrapped."""
        if not self.as_json:
            self._out.print(f"  {text}", markup=False, soft_wrap=True)

    def plain(self, text: str) -> None:
        """Prints a line at once: it is not wrapped, and nothing in it is markup or controls the terminal."""
        if not self.as_json:
            self._out.print(
                "".join(each if each.isprintable() else " " for each in text), markup=False, soft_wrap=True
            )
            self._out.file.flush()

    def result(self, document: Any) -> None:
        """Prints the outcome, if the command prints JSON."""
        if self.as_json:
            self._out.file.write(json.dumps(document, indent=2, sort_keys=True) + "\n")

    def problem(self, what: str, reason: str) -> None:
        """Reports on stderr a problem that does not end the command."""
        self._err.print(f"{what}: {reason}", markup=False, soft_wrap=True)

    def progress(self, what: str) -> None:
        """Prints a line on stderr while the command waits."""
        if not self._quiet:
            self._err.print(f"  {what}", markup=False, soft_wrap=True)

    def line(self, document: Any) -> None:
        """Like `result`, on one line and flushed, for commands that keep running."""
        if self.as_json:
            self._out.file.write(json.dumps(document, sort_keys=True) + "\n")
            self._out.file.flush()

    @contextmanager
    def stage(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Shows a progress bar on a terminal, or one line in a log."""
        if self._quiet:
            yield lambda steps: None
            return
        if not self._err.is_terminal:
            self._err.print(f"  {title} ...")
            yield lambda steps: None
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Bars(*columns, console=self._err) as bars:
            task = bars.add_task(title, total=total)
            yield lambda steps: bars.advance(task, steps)
