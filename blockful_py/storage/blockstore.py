# SPDX-License-Identifier: Apache-2.0
"""Blocks as files of a directory, verified on every read.

    blocks/<shard>/<cid>   the block; shard = the two characters before the CID's last one
    tmp/                   blocks being written; never read

A block gets its name by a rename after its bytes are on the disk.  It is therefore whole or absent, even
after a crash or with several writing processes.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from blockful_py.errors import BlockNotFoundError, FormatError, IntegrityError, StorageError
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.unixfs import Parts
from blockful_py.types import Uri
from blockful_py.whole_file import replace, sync

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class BlockStore:
    """A directory of blocks named by their CIDs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._blocks = directory / "blocks"
        self._tmp = directory / "tmp"
        with readable_errors(directory):
            for folder in (directory, self._blocks, self._tmp):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, uri: Uri, parts: Parts) -> bool:
        """Writes a block, which is durable after `sync`; returns False if it was here already.

        Raises StorageError if the disk is full or cannot be written; leaves nothing behind.
        """
        path = self._file(uri)
        with readable_errors(self.directory):
            if not self._new_shard(path) and _same(path, parts):
                return False
            replace(path, parts, self._tmp)
        return True

    def sync(self) -> None:
        """Makes the shard folders durable; each block is already durable within its folder."""
        with readable_errors(self.directory):
            sync(self._blocks)

    def get(self, uri: Uri) -> bytes:
        """The bytes of a block.

        Raises BlockNotFoundError if it is not here, and IntegrityError if its bytes do not hash to the CID.
        """
        path = self._file(uri)
        with readable_errors(self.directory):
            try:
                block = _read(path, MAX_BLOCK_SIZE + 1)
            except FileNotFoundError:
                raise BlockNotFoundError(
                    f"block {cid_string(uri)} is not in the store {self.directory}: "
                    "it was deleted, or was added to another store."
                ) from None
        if hashlib.sha256(block).digest() != uri.digest:
            raise IntegrityError(
                f"the bytes stored for {cid_string(uri)} do not hash to it: {path} is damaged or was "
                "changed; add the original again, or restore it from a copy."
            )
        return block

    def has(self, uri: Uri) -> bool:
        """Whether the block is here; does not read its bytes."""
        return self._path(uri).is_file()

    def move(self, uri: Uri, other: BlockStore) -> None:
        """Moves a block to a store on the same file system, durable after that store's `sync`.

        Does nothing if it is not here.
        """
        path = other._file(uri)
        with readable_errors(self.directory):
            other._new_shard(path)
            try:
                os.replace(self._file(uri), path)  # noqa: PTH105
            except FileNotFoundError:
                return
            sync(os.path.dirname(path))  # noqa: PTH120

    def remove(self, uri: Uri) -> bool:
        """Removes a block durably; returns False if it was not here."""
        path = self._path(uri)
        with readable_errors(self.directory):
            try:
                path.unlink()
            except FileNotFoundError:
                return False
            sync(path.parent)
        return True

    def __iter__(self) -> Iterator[Uri]:
        """Yields every block here, in no particular order."""
        for uri, _ in self.files():
            yield uri

    def files(self) -> Iterator[tuple[Uri, os.stat_result]]:
        """Yields every block here with its file's status, in no particular order."""
        for shard in list(self._blocks.iterdir()):
            for path in list(shard.iterdir()):
                with suppress(FormatError, FileNotFoundError):
                    yield parse_cid(path.name), path.stat()

    def renew(self, uri: Uri) -> bool:
        """Sets the time of a block's file to now; returns False if it is not here."""
        with readable_errors(self.directory):
            try:
                os.utime(self._file(uri))
            except FileNotFoundError:
                return False
        return True

    def clear_temporary(self, before: float = math.inf) -> None:
        """Removes temporary files of interrupted writes that are older than time `before`.

        The caller ensures that no such write is still in progress.
        """
        for path in self._tmp.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _new_shard(self, path: str) -> bool:
        """Creates the shard folder of a block; returns False if it existed."""
        try:
            os.mkdir(os.path.dirname(path), mode=0o700)  # noqa: PTH102, PTH120
        except FileExistsError:
            return False
        return True

    def _path(self, uri: Uri) -> Path:
        return Path(self._file(uri))

    def _file(self, uri: Uri) -> str:
        """The path as text: creating a `Path` takes longer than reading a small block."""
        name = cid_string(uri)
        return f"{self._blocks}/{name[-3:-1]}/{name}"


@contextmanager
def readable_errors(directory: Path) -> Iterator[None]:
    """Turns an OSError into a StorageError with advice."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(
                f"no room is left for {directory} ({error.strerror}): free some space or choose another "
                "storage directory, then run the command again; nothing half-written was kept."
            ) from error
        raise StorageError(
            f"the store {directory} cannot be used ({error.strerror}: {error.filename}): "
            "check that the path is a directory you may write to."
        ) from error


def _same(path: str, parts: Parts) -> bool:
    try:
        return _read(path, sum(map(len, parts)) + 1) == b"".join(parts)
    except FileNotFoundError:
        return False


def _read(path: str, most: int) -> bytes:
    """At most `most` bytes of a file, in a buffer of the file's size: one of `most` bytes is costly."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        missing = min(os.fstat(descriptor).st_size, most)
        parts = []
        while missing and (part := os.read(descriptor, missing)):
            parts.append(part)
            missing -= len(part)
    finally:
        os.close(descriptor)
    return parts[0] if len(parts) == 1 else b"".join(parts)
