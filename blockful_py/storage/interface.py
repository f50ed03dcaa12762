# SPDX-License-Identifier: Apache-2.0
"""The protocol of a store of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from blockful_py.types import Readable, Uri


class FileStore(Protocol):
    """Files named by their CIDs; every byte read is verified.

    Raises StorageError if the store cannot be used; kept files stay kept.
    """

    def add(self, data: bytes) -> Uri:
        """Keeps `data` and returns its Uri, which depends only on the bytes."""

    def add_stream(self, stream: Readable) -> Uri:
        """Keeps the bytes of `stream`, in memory bounded by a few chunks; otherwise as `add`."""

    def add_each(self, files: Iterable[Iterable[bytes]]) -> tuple[Uri, ...]:
        """Keeps several files, each given in pieces, but overlapping the waits for disk or node."""

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        """Keeps the concatenation of `pieces`; otherwise as `add_stream`."""

    def read(self, uri: Uri, limit: int) -> bytes:
        """The bytes of the file `uri`, every block checked against its CID.

        Raises BlockNotFoundError if a block is not here, IntegrityError if a block's bytes do not hash to its
        CID, and FormatError if it is not a file or is longer than `limit` bytes.
        """

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        """Yields the file `uri` from `begin` on in verified pieces of at most 2 MiB; errors as `read`."""

    def prefetch(self, uris: Iterable[Uri]) -> None:
        """Fetches small files together, since they are about to be read.

        A file that it cannot fetch is left to `read`, with all errors.
        """

    def has(self, uri: Uri) -> bool:
        """Whether the file `uri` is kept here."""

    def delete(self, *uris: Uri) -> None:
        """Stops keeping the files `uris` and removes blocks that no other kept file has.

        Ignores files that are not here; after a crash, deleting again completes it.  Many files take little
        longer than one, since the other files' blocks are listed only once.
        """

    def __iter__(self) -> Iterator[Uri]:
        """Yields the Uri of every kept file, by CID."""
