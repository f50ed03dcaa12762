# SPDX-License-Identifier: Apache-2.0
"""The file of a contract's past events, which preserves events that its node prunes.

A reading adds a line: number and hash of the last block read, and the logs since the previous line.  Readings
without logs add none for a while.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from blockful_py.errors import NodeError, RunError
from blockful_py.whole_file import write_whole

_ADVICE = "make room for it"


class LogFile:
    """The lines of one file; stores nothing without a path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self, take: Callable[[int, str, list[Any]], None]) -> None:
        """Calls `take` with block, hash and logs of each line.

        Truncates the file at the first line that is incomplete or that `take` rejects.  Lines of processes
        that read concurrently may overlap.
        """
        lines = self._lines()
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                take(entry["block"], entry["hash"], entry["logs"])
            except (ValueError, KeyError, TypeError, NodeError):
                self._write(lines[:number])
                return

    def add(self, block: int, block_hash: str, logs: Sequence[Any]) -> None:
        """Appends a line.  Like every write here, raises RunError if the file cannot be written."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(f"{_line(block, block_hash, logs)}\n")
        except OSError as error:
            raise RunError(f"{self._path} cannot be written: {error.strerror}; {_ADVICE}.") from None

    def replace(self, block: int, block_hash: str, logs: Sequence[Any]) -> None:
        """Makes this the only line."""
        self._write([_line(block, block_hash, logs)])

    def keep_up_to(self, block: int) -> None:
        """Removes the lines of later blocks."""
        if self._path is not None and self._path.exists():
            self._write([line for line in self._lines() if json.loads(line)["block"] <= block])

    def _lines(self) -> list[str]:
        try:
            return [] if self._path is None else self._path.read_text(errors="replace").splitlines()
        except OSError:
            return []

    def _write(self, lines: Sequence[str]) -> None:
        if self._path is not None:
            text = "".join(f"{line}\n" for line in lines)
            write_whole(self._path, text, parents=True, advice=_ADVICE)


def _line(block: int, block_hash: str, logs: Sequence[Any]) -> str:
    return json.dumps({"block": block, "hash": block_hash, "logs": logs}, separators=(",", ":"))
