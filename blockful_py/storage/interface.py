# SPDX-License-Identifier: Apache-2.0
"""The protocol of a store of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from blockful_py.types import Readable, Uri


class FileStore(Protocol):
    """Files named by their CIDs; every byte is verified on the way out.

    Raises StorageError where the store cannot be used; what it kept before stays kept.
    """

    def add(self, data: bytes) -> Uri:
        """Keeps `data` and returns its Uri; the same bytes always get the same one."""

    def add_stream(self, stream: Readable) -> Uri:
        """Keeps the bytes of `stream`, in memory bounded by a few chunks; otherwise as `add`."""

    def add_each(self, files: Iterable[bytes]) -> tuple[Uri, ...]:
        """Keeps several files, as `add` does each; they wait for the disk or the node together."""

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        """Keeps the concatenation of `pieces`; otherwise as `add_stream`."""

    def read(self, uri: Uri, limit: int) -> bytes:
        """The bytes of the file `uri`, every block checked against its CID.

        Raises:
            BlockNotFoundError: a block of it is not here.
            IntegrityError: a block's bytes do not hash to its CID.
            FormatError: it is not a file, or longer than `limit` bytes.
        """

    def stream(self, uri: Uri, limit: int) -> Iterator[bytes]:
        """Yields the bytes of the file `uri` in verified pieces of at most 2 MiB; errors as `read`."""

    def has(self, uri: Uri) -> bool:
        """Whether the file `uri` is kept here."""

    def delete(self, *uris: Uri) -> None:
        """Stops keeping the files `uris` and removes the blocks that no other kept file has.

        Nothing happens to those that are not here; after a crash, deleting again completes it.  Many files at
        once take little longer than one, since what the others have is looked up once.
        """

    def __iter__(self) -> Iterator[Uri]:
        """Yields the Uri of every kept file, by CID."""
