# SPDX-License-Identifier: Apache-2.0
"""Writes a document whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from blockful_py.errors import RunError


def write_document(path: Path, data: bytes) -> None:
    """On the disk when it returns; a crash leaves the file as it was.

    Raises RunError when it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}; choose another place.") from None
