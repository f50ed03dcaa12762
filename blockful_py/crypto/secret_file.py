# SPDX-License-Identifier: Apache-2.0
"""Reads secret files that only their owner may read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from blockful_py.errors import KeystoreError


def read_own(path: Path, limit: int, advice: str) -> bytes:
    """Reads at most `limit` + 1 bytes of a file that only its owner may read.

    Raises KeystoreError if it cannot be read (`advice` says how to create one), or if others may read or
    write it.
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
