# SPDX-License-Identifier: Apache-2.0
"""Writes files whole: after a crash a file has its old content or its new content, never a part of either.

The bytes go to a temporary file, down to the disk, and take the name in one step; the name is made durable
last.  A crash may leave the temporary file, whose name ends in `.tmp`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from blockful_py.errors import BlockfulError, RunError

OWN, SHARED = 0o600, 0o666
"""Modes of files for their user only, and of those that the umask decides on."""
NAME = 48
"""Characters of a file's name in that of its temporary file."""

Parts = Sequence[bytes | bytearray | memoryview]


def write_whole(
    path: Path,
    data: bytes | str,
    raises: type[BlockfulError] = RunError,
    *,
    parents: bool = False,
    mode: int = SHARED,
    advice: str = "choose another place",
) -> None:
    """Replaces a file, or makes it; text is UTF-8.  When it returns, bytes and name survive a power cut.

    `parents` makes the folders that are missing.
    Raises `raises`, naming the file, when it cannot be written; it is as before then.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, (_bytes(data),), mode=mode)
    except OSError as error:
        raise raises(f"{path} cannot be written: {error.strerror}; {advice}.") from None


def write_secret(path: Path, data: bytes | str, raises: type[BlockfulError]) -> None:
    """Makes a new file that only its user may read, and never replaces one.

    Raises `raises`, naming the file, when there is one already or it cannot be written.
    """
    temporary = _temporary(path, path.parent)
    try:
        try:
            _write(temporary, (_bytes(data),), OWN)
            path.hardlink_to(temporary)
        finally:
            Path(temporary).unlink(missing_ok=True)
        sync(path.parent)
    except FileExistsError:
        raise raises(f"{path} cannot be written: it exists already and is never replaced.") from None
    except OSError as error:
        raise raises(f"{path} cannot be written: {error.strerror}.") from None


def replace(path: Path | str, parts: Parts, folder: Path | None = None, *, mode: int = OWN) -> None:
    """As `write_whole`, of what `parts` add up to, by way of `folder`, which is on the same file system.

    Raises OSError.
    """
    parent = os.path.dirname(path) or "."  # noqa: PTH120
    place(path, parts, folder or parent, mode=mode)
    sync(parent)


def place(path: Path | str, parts: Parts, folder: Path | str, *, mode: int = OWN) -> None:
    """As `replace`, but that the name is durable only once its folder is: see `sync`."""
    temporary = _temporary(path, folder)
    try:
        _write(temporary, parts, mode)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync(path: Path | str) -> None:
    """Makes a file's content, or the names in a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _temporary(path: Path | str, folder: Path | str) -> str:
    name = os.path.basename(path)[:NAME]  # noqa: PTH119
    return f"{folder}/{name}.{secrets.token_hex(8)}.tmp"


def _write(path: str, parts: Parts, mode: int) -> None:
    """Writes on where the system stops short, as it may.  An empty file has no bytes to wait for."""
    left = [memoryview(part) for part in parts if part]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        while left:
            written = os.writev(descriptor, left)
            while left and written >= len(left[0]):
                written -= len(left.pop(0))
            if left:
                left[0] = left[0][written:]
        if any(parts):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
