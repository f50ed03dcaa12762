# SPDX-License-Identifier: Apache-2.0
"""Bounded reads and atomic writes: after a crash a file has its old content or its new content, never a mix.

The bytes go to a temporary file and are synced to disk; a rename gives them their name, and syncing the
folder makes the name durable.  A crash may leave the temporary file, whose name ends in `.tmp`.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from blockful_py.errors import BlockfulError, FormatError, RunError

OWN, SHARED = 0o600, 0o666
"""File modes: readable by the owner only, and as the umask decides."""
NAME = 48
"""Maximum number of characters of a file's name that its temporary file's name repeats."""

Parts = Sequence[bytes | bytearray | memoryview]


def read_bounded(path: Path, most: int, what: str | None = None) -> bytes:
    """The bytes of a file; `what` calls it in errors, instead of its name.

    Raises FormatError if it has more than `most`, or cannot be read.
    """
    what = path.name if what is None else what
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise FormatError(f"{what} cannot be read: {error.strerror}.") from None
    if len(data) > most:
        raise FormatError(f"{what} has more than {most} bytes.")
    return data


def write_whole(
    path: Path,
    data: bytes | str,
    raises: type[BlockfulError] = RunError,
    *,
    parents: bool = False,
    mode: int = SHARED,
    advice: str = "choose another place",
) -> None:
    """Creates or replaces a file, durably; text is encoded as UTF-8.

    `parents` creates missing folders.
    Raises `raises`, naming the file, if it cannot be written; the old file is unchanged then.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, (_bytes(data),), mode=mode)
    except OSError as error:
        raise raises(f"{path} cannot be written: {error.strerror}; {advice}.") from None


def write_secret(path: Path, data: bytes | str, raises: type[BlockfulError]) -> None:
    """Creates a new file that only its owner may read; never replaces one.

    Raises `raises`, naming the file, if the file exists or cannot be written.
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
    """Replaces a file durably by the concatenation of `parts`.

    The temporary file lies in `folder`, on the same file system.  Raises OSError.
    """
    parent = os.path.dirname(path) or "."  # noqa: PTH120
    place(path, parts, folder or parent, mode=mode)
    sync(parent)


def place(path: Path | str, parts: Parts, folder: Path | str, *, mode: int = OWN) -> None:
    """Replaces a file as `replace` does, but its name is durable only after `sync` of its folder."""
    temporary = _temporary(path, folder)
    try:
        _write(temporary, parts, mode)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync(path: Path | str) -> None:
    """Makes a file's content, or the names in a folder, durable."""
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
    """Writes a synced file; repeats partial writes, and skips the sync of an empty file."""
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
