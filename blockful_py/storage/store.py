# SPDX-License-Identifier: Apache-2.0
"""Files kept in a directory, named by their CIDs.

    pins/<cid>   an empty file for each kept file
    lock         held shared while adding, exclusively while deleting

A file is kept once its pin exists, which is written after all its blocks.  Deleting removes the pin, then the
blocks that no other pinned file has.
"""

from __future__ import annotations

import fcntl
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from blockful_py.errors import BlockNotFoundError, FormatError, IntegrityError
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.blockstore import BlockStore, readable_errors
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.dag_pb import decode
from blockful_py.storage.pieces import chunks_of_pieces, stream_of
from blockful_py.storage.unixfs import (
    Parts,
    PutParts,
    blocks_of,
    chunks_of,
    read_file,
    read_whole,
    write_file,
    write_nodes,
)
from blockful_py.storage.writers import THREADS, Writers, in_order
from blockful_py.types import Codec, Readable, Uri
from blockful_py.whole_file import place, sync


class ContentStore:
    """A store of files in a directory (see `FileStore`); safe for several processes and threads."""

    def __init__(self, directory: Path | str) -> None:
        """Opens or creates the store in `directory`.

        Raises StorageError if the directory cannot be made or written.
        """
        self.directory = Path(directory)
        self._blocks = BlockStore(self.directory)
        self._pins = self.directory / "pins"
        self._files: dict[Uri, Uri] = {}
        with readable_errors(self.directory):
            self._pins.mkdir(mode=0o700, exist_ok=True)

    def add(self, data: bytes) -> Uri:
        """Stores `data` durably and returns its Uri, which depends only on the bytes.

        Raises StorageError if the disk is full or cannot be written; the store is then unchanged.
        """
        return self.add_stream(io.BytesIO(data))

    def add_stream(self, stream: Readable) -> Uri:
        """Stores the bytes of `stream`, in memory bounded by a few chunks; otherwise as `add`."""
        return self._add_chunks(chunks_of(stream))

    def add_each(self, files: Iterable[Iterable[bytes]]) -> tuple[Uri, ...]:
        """Stores all of the files or none, in a few threads whose syncs share a commit; errors as `add`.

        It consumes `files`, and the pieces of each, as it writes, so that little of them is in memory.
        """

        def write(put: PutParts) -> tuple[Uri, ...]:
            def whole(pieces: Iterable[bytes]) -> Uri:
                return write_file(stream_of(pieces), lambda uri, block: put(uri, (block,)))

            with ThreadPoolExecutor(THREADS) as pool:
                return tuple(in_order(pool, whole, files))

        return self._add(write)

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        """Stores the concatenation of `pieces`, without copies of large ones; otherwise as `add_stream`."""
        return self._add_chunks(chunks_of_pieces(pieces))

    def read(self, uri: Uri, limit: int) -> bytes:
        """The bytes of the file `uri`, every block checked against its CID.

        Raises BlockNotFoundError if a block is not here, IntegrityError if a block's bytes do not hash to its
        CID, and FormatError if it is not a file or is longer than `limit` bytes.
        """
        return read_whole(uri, self._blocks.get, limit)

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        """Yields the file `uri` from `begin` on in verified pieces of at most 2 MiB; errors as `read`."""
        return read_file(uri, self._blocks.get, limit, begin)

    def prefetch(self, uris: Iterable[Uri]) -> None:
        """Nothing is fetched: all of its files are here."""

    def has(self, uri: Uri) -> bool:
        """Whether the file `uri` is kept here."""
        with readable_errors(self.directory):
            return (self._pins / cid_string(uri)).is_file()

    def size(self, uri: Uri) -> int:
        """Size of the file `uri` in bytes, as its root states; errors as `read`."""
        root = self._blocks.get(uri)
        return len(root) if uri.codec is Codec.RAW else decode(root).size

    def block(self, uri: Uri) -> bytes:
        """A verified block, of a kept file or not.  Raises BlockNotFoundError or IntegrityError."""
        return self._blocks.get(uri)

    def kept_block(self, uri: Uri) -> bytes:
        """A verified block of a kept file.  Raises BlockNotFoundError or IntegrityError."""
        if not self.has_kept_block(uri):
            raise BlockNotFoundError(f"block {cid_string(uri)} belongs to no kept file.")
        return self._blocks.get(uri)

    def has_kept_block(self, uri: Uri) -> bool:
        """Whether a block is here and belongs to a kept file."""
        if not self._blocks.has(uri):
            return False
        file = self._files.get(uri)
        if file is None or not self.has(file):
            self._list_blocks()
        return uri in self._files

    def adopt(self, uri: Uri, blocks: Iterable[Uri], arrivals: Arrivals) -> None:
        """Keeps the file `uri`, whose `blocks` are all here or have arrived; errors as `take`."""
        with self._locked(fcntl.LOCK_SH):
            self._take(blocks, arrivals)
            self._keep(uri)

    def take(self, blocks: Iterable[Uri], arrivals: Arrivals) -> None:
        """Replaces lost or damaged blocks of a kept file with `blocks` that have arrived.

        Raises BlockNotFoundError if one is neither here nor arrived.
        """
        with self._locked(fcntl.LOCK_SH):
            self._take(blocks, arrivals)
            self._blocks.sync()

    def delete(self, *uris: Uri) -> None:
        """See FileStore."""
        if not uris:
            return
        with self._locked(fcntl.LOCK_EX), readable_errors(self.directory):
            for uri in uris:
                (self._pins / cid_string(uri)).unlink(missing_ok=True)
            sync(self._pins)
            files = [self._reachable(uri) for uri in uris]
            if all(complete for _, complete in files):
                self._remove_unpinned([blocks[::-1] for blocks, _ in files])
            else:
                self._remove_unpinned([[block] for block in self._blocks])

    def collect_garbage(self) -> int:
        """Removes blocks without a kept file and unfinished writes, left by a crash; returns their number."""
        with self._locked(fcntl.LOCK_EX), readable_errors(self.directory):
            self._blocks.clear_temporary()
            return self._remove_unpinned([[block] for block in self._blocks])

    def __iter__(self) -> Iterator[Uri]:
        """Yields the Uri of every kept file, by CID."""
        for path in sorted(self._pins.iterdir()):
            with suppress(FormatError):
                yield parse_cid(path.name)

    def _add_chunks(self, chunks: Iterable[Parts]) -> Uri:
        def write(put: PutParts) -> tuple[Uri, ...]:
            with Writers(put) as writers:
                return (write_nodes(writers.leaves(chunks), writers.put),)

        return self._add(write)[0]

    def _add(self, write: Callable[[PutParts], tuple[Uri, ...]]) -> tuple[Uri, ...]:
        """Keeps the files whose blocks `write` puts; if it fails, keeps none of them."""
        written: list[Uri] = []

        def put(uri: Uri, parts: Parts) -> None:
            if self._blocks.put(uri, parts):
                written.append(uri)

        try:
            with self._locked(fcntl.LOCK_SH):
                roots = write(put)
                self._keep(*roots)
        except BaseException:
            if written:
                with self._locked(fcntl.LOCK_EX):
                    self._remove_unpinned([[block] for block in written])
            raise
        return roots

    def _take(self, blocks: Iterable[Uri], arrivals: Arrivals) -> None:
        for block in blocks:
            arrivals.give(block, self._blocks)
            if not self._blocks.has(block):
                raise BlockNotFoundError(
                    f"block {cid_string(block)} was removed while its file was gathered."
                )

    def _keep(self, *uris: Uri) -> None:
        """Pins files; their blocks are already durable within their shard folders."""
        self._blocks.sync()
        with readable_errors(self.directory):
            for uri in uris:
                place(self._pins / cid_string(uri), (), self.directory / "tmp")
            sync(self._pins)

    def _list_blocks(self) -> None:
        """Updates `_files`, which maps each block to a pinned file that has it."""
        pins, listed = set(self), set(self._files.values())
        before = {} if listed - pins else self._files
        found = {block: pin for pin in pins - set(before.values()) for block in self._reachable(pin)[0]}
        self._files = before | found

    def _remove_unpinned(self, files: Sequence[Sequence[Uri]]) -> int:
        """Removes blocks that no pinned file has, each file's in order; returns their number.

        The caller holds the lock exclusively.  A few threads remove files, so that syncs share a commit.
        """
        kept = {block for pin in self for block in self._reachable(pin)[0]}

        def remove(blocks: Sequence[Uri]) -> int:
            return sum(self._blocks.remove(block) for block in blocks if block not in kept)

        with ThreadPoolExecutor(THREADS) as pool:
            return sum(pool.map(remove, files))

    def _reachable(self, uri: Uri) -> tuple[list[Uri], bool]:
        """Blocks of a file as far as its nodes are readable, and whether all nodes were."""
        blocks: list[Uri] = []
        try:
            for block in blocks_of(uri, self._blocks.get):
                blocks.append(block)
        except (BlockNotFoundError, IntegrityError, FormatError):
            return blocks, not self._blocks.has(uri)
        return blocks, True

    @contextmanager
    def _locked(self, mode: int) -> Iterator[None]:
        with readable_errors(self.directory):
            file = (self.directory / "lock").open("a")
        with file:
            fcntl.flock(file, mode)
            yield
