# SPDX-License-Identifier: Apache-2.0
"""Reads files of secrets that only their user may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from blockful_py.errors import KeystoreError


def read_own(path: Path, limit: int, advice: str) -> bytes:
    """At most `limit` + 1 bytes of a file that only its user may read; `advice` says how to create one.

    Raises KeystoreError when it cannot be read, or others may read or write it.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(limit + 1)
    except OSError as error:
        raise KeystoreError(f"the key file {path} cannot be read ({error.strerror}): {advice}") from None
    if mode & 0o077:
        raise KeystoreError(
            f"others than its user may read or write {path} (mode {mode:o}): chmod 600 {path}"
        )
    return data
