# SPDX-License-Identifier: Apache-2.0
"""Files of secrets: written once, and for their user only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from blockful_py.errors import KeystoreError


def write_new(path: Path, data: bytes) -> None:
    """Writes a new file that only its user may read, down to the disk.

    Raises KeystoreError when it exists already or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise KeystoreError(f"{path} exists already; secrets are never replaced by new ones.") from None
    except OSError as error:
        raise KeystoreError(f"{path} cannot be written: {error.strerror}.") from None


def read_own(path: Path, limit: int, advice: str) -> bytes:
    """At most `limit` + 1 bytes of a file that only its user may read; `advice` says how to come by one.

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
