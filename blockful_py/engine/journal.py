# SPDX-License-Identifier: Apache-2.0
"""A one-entry journal: what was certified and is not yet wholly on the chains.

It is written before the first transaction is sent and removed after the last is mined, so that a
crash between leaves what is needed to finish the job, and nothing else.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from blockful_py.errors import RunError

FORMAT = "blockful-journal/1"


class Journal:
    """The entry in `path`; at most one at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, entry: dict[str, Any]) -> None:
        """Makes `entry` durable (write, fsync, rename). Raises RunError when one is there already."""
        if self._path.exists():
            raise RunError(f"{self._path} holds an unfinished job; run the same command again to finish it.")
        temporary = self._path.with_suffix(".tmp")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, **entry}, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
            directory = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise RunError(f"{self._path} cannot be written: {error.strerror}; nothing was sent.") from None

    def read(self) -> dict[str, Any] | None:
        """The entry, or None. Raises RunError when the file is not a journal of this version."""
        try:
            entry = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunError(
                f"{self._path} cannot be read ({error}); move it away and compare the chains with "
                "`blockful verify` before going on."
            ) from None
        if not isinstance(entry, dict) or entry.get("format") != FORMAT:
            raise RunError(f"{self._path} is not a {FORMAT} file; it was left as it is.")
        return entry

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)
