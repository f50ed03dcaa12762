# SPDX-License-Identifier: Apache-2.0
"""Output of commands: text or JSON on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from blockful_py.cli import stages
from blockful_py.terminal import PlainConsole, printable


class Output:
    """Output of one command; with `as_json`, exactly one JSON document on stdout.

    Text is printed unwrapped, so that it can be copied; terminals wrap it.
    """

    def __init__(self, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json
        self._quiet = quiet or as_json
        self._out = PlainConsole()
        self._err = PlainConsole(stderr=True)

    def say(self, *parts: RenderableType) -> None:
        """Prints text and tables, except in JSON mode."""
        if not self.as_json:
            for part in parts:
                if isinstance(part, Table):
                    from blockful_py.report.uncut import print_uncut

                    print_uncut(self._out, part)
                else:
                    self._out.print(part, soft_wrap=True)

    def command(self, *words: str | Path) -> None:
        """Prints a command for copying into a shell."""
        self.say(f"  {shlex.join(map(str, words))}")

    def plain(self, text: str) -> None:
        """Prints an unwrapped line at once, without markup or terminal control characters."""
        if not self.as_json:
            self._out.print(printable(text).replace("\n", " "), soft_wrap=True)
            self._out.file.flush()

    def result(self, document: Any) -> None:
        """Prints the result, in JSON mode only."""
        if self.as_json:
            self._out.file.write(json.dumps(document, indent=2, sort_keys=True) + "\n")

    def problem(self, what: str, reason: str) -> None:
        """Reports a problem on stderr that does not end the command."""
        self._err.print(f"{what}: {reason}", soft_wrap=True)

    def progress(self, what: str) -> None:
        """Prints a line on stderr while the command waits."""
        if not self._quiet:
            self._err.print(f"  {what}", soft_wrap=True)

    def line(self, document: Any) -> None:
        """Like `result`, on one line and flushed, for commands that keep running."""
        if self.as_json:
            self._out.file.write(json.dumps(document, sort_keys=True) + "\n")
            self._out.file.flush()

    @contextmanager
    def stage(self, title: str, total: int | None, unit: str = "models") -> Iterator[Callable[[int], None]]:
        """Shows a stage's progress, pace and remaining time on stderr."""
        if self._quiet:
            yield lambda steps: None
        elif self._err.is_terminal:
            with stages.drawn(self._err, title, total, unit) as advance:
                yield advance
        else:
            with stages.logged(self.progress, title, total, unit) as advance:
                yield advance
