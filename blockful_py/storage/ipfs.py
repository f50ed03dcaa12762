# SPDX-License-Identifier: Apache-2.0
"""Files kept by an IPFS node.

The DAG is built here and sent block by block, so the CID does not depend on the node's settings; every block
read is verified.  A file is kept once its root is pinned recursively, after all its blocks were sent.  The
store owns all pins of the node, so it needs a node of its own.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from blockful_py.errors import BlockNotFoundError, FormatError, IntegrityError
from blockful_py.storage.ipfs_api import IpfsApi
from blockful_py.storage.pieces import stream_of
from blockful_py.storage.unixfs import blocks_of, read_file, read_whole, write_file
from blockful_py.storage.writers import THREADS, in_order
from blockful_py.types import Readable, Uri

SECONDS = 30.0


class IpfsStore:
    """A store of files on a node (see `FileStore`); safe for several processes and threads."""

    def __init__(self, api: str, seconds: float = SECONDS) -> None:
        """Connects to the node's API at multiaddr `api`; the node may search `seconds` for a block.

        Raises StorageError if no usable node answers there.
        """
        self._api = IpfsApi(api, seconds)

    def add(self, data: bytes) -> Uri:
        return self.add_stream(io.BytesIO(data))

    def add_stream(self, stream: Readable) -> Uri:
        """See FileStore; the node's garbage collector removes the blocks of a failed `add`."""
        root = write_file(stream, self._api.put_block)
        self._api.pin(root)
        return root

    def add_each(self, files: Iterable[Iterable[bytes]]) -> tuple[Uri, ...]:
        """See FileStore; if a file fails, the previous ones are kept."""
        with ThreadPoolExecutor(THREADS) as pool:
            return tuple(in_order(pool, self.add_pieces, files))

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        return self.add_stream(stream_of(pieces))

    def read(self, uri: Uri, limit: int) -> bytes:
        return read_whole(uri, self._api.get_block, limit)

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        return read_file(uri, self._api.get_block, limit, begin)

    def prefetch(self, uris: Iterable[Uri]) -> None:
        """Nothing is fetched: the node searches for blocks by itself."""

    def has(self, uri: Uri) -> bool:
        return self._api.is_pinned(uri)

    def delete(self, *uris: Uri) -> None:
        """See FileStore; other nodes that fetched the blocks may keep them."""
        for uri in uris:
            blocks = self._reachable(uri)
            self._api.unpin(uri)
            self._api.remove_blocks(blocks[::-1])

    def __iter__(self) -> Iterator[Uri]:
        return self._api.pins()

    def _reachable(self, uri: Uri) -> list[Uri]:
        """Blocks of a file stored on the node itself, parents first, as far as its nodes are readable."""
        blocks: list[Uri] = []
        with suppress(BlockNotFoundError, IntegrityError, FormatError):
            for block in blocks_of(uri, lambda node: self._api.get_block(node, offline=True)):
                blocks.append(block)
        return blocks
