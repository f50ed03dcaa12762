# SPDX-License-Identifier: Apache-2.0
"""Bounds on the blocks of a file of a given size."""

from __future__ import annotations

from blockful_py.errors import FormatError
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri

MAX_DIGESTS_BYTES = 16 << 20
"""Maximum size of a file of digests by tensor (`learning.digests`); one of 10^5 tensors has about 14 MiB."""
MAX_BLOCK_SIZE = 2 * 2**20
"""Maximum bytes of a block that is read: the limit for blocks that IPFS nodes exchange."""
MOST_BUNDLED = 256
"""Maximum number of blocks in a bundle (`bundles`)."""
FEW_BLOCKS = 1024
"""Number of blocks that any file may have."""
SMALL_BLOCK = 2**14
"""Minimum average bytes of the blocks of a larger file."""
NODE_SHARE = 64
"""Minimum bytes of a file per byte of its nodes; a single node may have MAX_BLOCK_SIZE."""


class Bounds:
    """Counts the blocks of a file of at most `limit` bytes, and the bytes of its nodes.

    Raises FormatError for more than FEW_BLOCKS + `limit // SMALL_BLOCK` blocks, or more than MAX_BLOCK_SIZE +
    `limit // NODE_SHARE` bytes of nodes.
    """

    def __init__(self, root: Uri, limit: int) -> None:
        self._root = root
        self._limit = limit
        self._blocks = 0
        self._node_bytes = 0

    def require_length(self, size: int) -> None:
        """Checks the file's size; raises FormatError if it exceeds `limit` bytes."""
        if size > self._limit:
            raise FormatError(
                f"{cid_string(self._root)} is longer than the {self._limit} bytes allowed here."
            )

    def count_blocks(self, count: int) -> None:
        self._blocks += count
        most = FEW_BLOCKS + self._limit // SMALL_BLOCK
        if self._blocks > most:
            raise FormatError(f"{cid_string(self._root)} has more than {most} blocks.")

    def count_node(self, size: int) -> None:
        self._node_bytes += size
        most = MAX_BLOCK_SIZE + self._limit // NODE_SHARE
        if self._node_bytes > most:
            raise FormatError(f"{cid_string(self._root)} has nodes of more than {most} bytes together.")


def require_block_size(uri: Uri, block: bytes) -> None:
    """Checks a block's size; raises FormatError if it exceeds MAX_BLOCK_SIZE."""
    if len(block) > MAX_BLOCK_SIZE:
        raise FormatError(f"{cid_string(uri)} is a block of {len(block)} bytes, over {MAX_BLOCK_SIZE}.")
