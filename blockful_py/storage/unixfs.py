# SPDX-License-Identifier: Apache-2.0
"""Files as balanced UnixFS DAGs, by the profile `unixfs-v1-2025` (IPIP-499).

Raw leaves of 1 MiB; nodes of at most 1024 links, filled from the left; every leaf at the same depth.  A file
of at most 1 MiB is a single raw block.  Callbacks of the caller put and get blocks, so memory is bounded by a
chunk and one node per level.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

from blockful_py.errors import FormatError
from blockful_py.storage.bounds import Bounds, require_block_size
from blockful_py.storage.cid import cid_string, uri_of, uri_of_parts
from blockful_py.storage.dag_pb import FileNode, Link, decode, encode
from blockful_py.types import Codec, Readable, Uri

CHUNK_SIZE = 2**20
"""Bytes of a leaf."""
MAX_LINKS = 1024
"""Maximum links of a written node."""
MAX_DEPTH = 8
"""Maximum levels of nodes in a file that is read: 4 levels hold 10^18 bytes in this profile."""

Parts = tuple[bytes | bytearray | memoryview, ...]
"""A block in parts, since joining them would copy every byte again."""
Leaf = tuple[Uri, int]
"""Uri and size of a chunk; every chunk but the last has CHUNK_SIZE bytes."""
PutBlock = Callable[[Uri, bytes], None]
PutParts = Callable[[Uri, Parts], None]
GetBlock = Callable[[Uri], bytes]


def write_file(stream: Readable, put: PutBlock) -> Uri:
    """Cuts `stream` into blocks, passes each to `put`, children first, and returns the root."""

    def leaves() -> Iterator[Leaf]:
        for chunk in chunks_of(stream):
            leaf = leaf_of(chunk)
            put(leaf[0], b"".join(chunk))
            yield leaf

    return write_nodes(leaves(), lambda uri, parts: put(uri, b"".join(parts)))


def leaf_of(chunk: Parts) -> Leaf:
    """Uri and size of a raw leaf."""
    return uri_of_parts(chunk, Codec.RAW), sum(map(len, chunk))


def write_nodes(leaves: Iterable[Leaf], put: PutParts) -> Uri:
    """Passes the nodes over `leaves` (at least one) to `put`, children first, and returns the root."""
    levels: list[list[Link]] = [[]]
    for uri, size in leaves:
        levels[0].append(Link(uri, size, size))
        level = 0
        while len(levels[level]) == MAX_LINKS:
            _close(levels, level, put)
            level += 1
    for level in range(len(levels)):
        if levels[level] and (level + 1 < len(levels) or len(levels[level]) > 1):
            _close(levels, level, put)
    return levels[-1][0].uri


def file_uri(data: bytes | Readable) -> Uri:
    """The Uri that a file would get; stores nothing."""
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    return write_file(stream, lambda _uri, _block: None)


def read_file(uri: Uri, get: GetBlock, limit: int, begin: int = 0) -> Iterator[bytes]:
    """Yields the bytes of the file `uri` in order from byte `begin` on; `get` returns verified blocks.

    Refuses a file before reading its leaves if its root states more than `limit` bytes.  Repeated blocks
    count each time (`Bounds`).  Raises FormatError if the file is longer than `limit` bytes, has too many
    blocks or levels, oversized blocks, malformed nodes, or sizes that do not add up.
    """
    bounds = Bounds(uri, limit)
    root = _load(uri, get, bounds)
    bounds.require_length(len(root) if isinstance(root, bytes) else root.size)
    if isinstance(root, bytes):
        yield root[begin:]
        return
    if root.data[begin:]:
        yield root.data[begin:]
    skipped = max(0, begin - len(root.data))
    pending = [iter(root.links)]
    while pending:
        link = next(pending[-1], None)
        if link is None:
            pending.pop()
            continue
        if 0 < link.size <= skipped:
            skipped -= link.size
            continue
        child = _load(link.uri, get, bounds)
        size = len(child) if isinstance(child, bytes) else child.size
        if size != link.size or size == 0:
            raise FormatError(f"{cid_string(link.uri)} holds {size} bytes, but its parent says {link.size}.")
        data = child if isinstance(child, bytes) else child.data
        if data[skipped:]:
            yield data[skipped:]
        skipped = max(0, skipped - len(data))
        if isinstance(child, bytes):
            continue
        if len(pending) == MAX_DEPTH:
            raise FormatError(f"{cid_string(uri)} has more than {MAX_DEPTH} levels of nodes.")
        pending.append(iter(child.links))


def read_whole(uri: Uri, get: GetBlock, limit: int) -> bytes:
    """The bytes of the file `uri`; errors as `read_file`."""
    parts = list(read_file(uri, get, limit))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def blocks_of(uri: Uri, get: GetBlock) -> Iterator[Uri]:
    """Yields every block of the file `uri` once, depth first in file order, without reading leaves.

    Raises FormatError for a malformed node.
    """
    seen: set[Uri] = set()
    pending = [uri]
    while pending:
        at = pending.pop()
        if at in seen:
            continue
        seen.add(at)
        yield at
        if at.codec is Codec.DAG_PB:
            pending += [link.uri for link in reversed(decode(get(at)).links)]


def chunks_of(stream: Readable) -> Iterator[Parts]:
    """Yields chunks of CHUNK_SIZE; the last one may be shorter, and an empty stream yields an empty one."""
    first = True
    while True:
        parts: list[bytes] = []
        missing = CHUNK_SIZE
        while missing and (part := stream.read(missing)):
            parts.append(part)
            missing -= len(part)
        if first or parts:
            yield (parts[0] if len(parts) == 1 else b"".join(parts),)
        if missing:
            return
        first = False


def _close(levels: list[list[Link]], level: int, put: PutParts) -> None:
    """Replaces the links of a level by one node over them, on the level above."""
    links = tuple(levels[level])
    block = encode(links)
    uri = uri_of(block, Codec.DAG_PB)
    put(uri, (block,))
    if level + 1 == len(levels):
        levels.append([])
    size = sum(link.size for link in links)
    levels[level + 1].append(Link(uri, size, len(block) + sum(link.total_size for link in links)))
    levels[level].clear()


def _load(uri: Uri, get: GetBlock, bounds: Bounds) -> bytes | FileNode:
    bounds.count_blocks(1)
    block = get(uri)
    require_block_size(uri, block)
    if uri.codec is Codec.RAW:
        return block
    bounds.count_node(len(block))
    try:
        return decode(block)
    except FormatError as error:
        raise FormatError(f"{cid_string(uri)} is not a file: {error}") from None
