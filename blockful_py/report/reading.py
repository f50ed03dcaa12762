# SPDX-License-Identifier: Apache-2.0
"""Reads the report of a run directory; imports nothing that draws."""

from __future__ import annotations

from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.report.schema import Report


def read_report(directory: Path) -> Report:
    """The report of a run directory.

    Raises:
        RunError: if there is none, or it is of another version.
    """
    path = directory / "report.json"
    try:
        return Report.from_bytes(path.read_bytes())
    except OSError as error:
        raise RunError(
            f"there is no report at {path}: {error.strerror or error}. Give the directory of a finished run."
        ) from error
