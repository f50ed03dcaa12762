# SPDX-License-Identifier: Apache-2.0
"""Reads the report of a run directory; imports no drawing code."""

from __future__ import annotations

from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.pipeline.run.finding import RUN_FILE, no_run
from blockful_py.report.schema import Report


def read_report(directory: Path) -> Report:
    """The report of a run directory.

    Raises RunError if it is missing or of another version.
    """
    path = directory / "report.json"
    try:
        return Report.from_bytes(path.read_bytes())
    except FileNotFoundError:
        if not (directory / RUN_FILE).exists():
            raise no_run(directory) from None
        raise RunError(f"the run {directory} has no report yet: `blockful unlearn` writes it.") from None
    except OSError as error:
        raise RunError(f"the report {path} cannot be read: {error.strerror or error}.") from error
