# SPDX-License-Identifier: Apache-2.0
"""The dag-pb codec and the UnixFS message inside it, for files.

    PBNode   Links = field 2 (repeated PBLink), Data = field 1; links are written before data
    PBLink   Hash = 1 (bytes), Name = 2 (string), Tsize = 3 (varint)
    UnixFS   Type = 1 (varint), Data = 2 (bytes), filesize = 3 (varint), blocksizes = 4 (varints)

Sources: https://ipld.io/specs/codecs/dag-pb/spec/, https://specs.ipfs.tech/unixfs/.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blockful_py.errors import FormatError
from blockful_py.storage import varint
from blockful_py.storage.cid import cid_bytes, uri_from_bytes
from blockful_py.types import Uri

TYPE_RAW = 0
TYPE_FILE = 2

_VARINT = 0
_BYTES = 2


@dataclass(frozen=True, slots=True)
class Link:
    """A child of a node.

    Attributes:
        uri: target of the link.
        size: bytes of the file under this child (a UnixFS blocksize).
        total_size: bytes of all blocks under this child, including itself (Tsize).
    """

    uri: Uri
    size: int
    total_size: int


@dataclass(frozen=True, slots=True)
class FileNode:
    """A UnixFS file node: inline `data`, then the children in order."""

    data: bytes
    links: tuple[Link, ...]

    @property
    def size(self) -> int:
        """Bytes of the file under this node."""
        return len(self.data) + sum(link.size for link in self.links)


def encode(links: tuple[Link, ...]) -> bytes:
    """The canonical block of a file node over `links`, without inline data."""
    out = bytearray()
    for link in links:
        body = _field(1, cid_bytes(link.uri)) + _field(2, b"") + b"\x18" + varint.encode(link.total_size)
        out += _field(2, body)
    unixfs = bytearray(b"\x08" + varint.encode(TYPE_FILE))
    unixfs += b"\x18" + varint.encode(sum(link.size for link in links))
    for link in links:
        unixfs += b"\x20" + varint.encode(link.size)
    out += _field(1, bytes(unixfs))
    return bytes(out)


def decode(block: bytes) -> FileNode:
    """The file node in a dag-pb block.

    Raises FormatError for malformed dag-pb or UnixFS, a node that is not a file, or sizes that do not add up.
    """
    links: list[tuple[Uri, int]] = []
    data: bytes | None = None
    for number, value in _fields(block):
        if number == 2 and isinstance(value, bytes) and data is None:
            links.append(_decode_link(value))
        elif number == 1 and isinstance(value, bytes) and data is None:
            data = value
        else:
            raise FormatError(f"a dag-pb node with an unexpected or repeated field {number}.")
    if data is None:
        raise FormatError("a dag-pb node without UnixFS data is not a file.")
    inline, file_size, sizes = _decode_unixfs(data)
    if len(sizes) != len(links):
        raise FormatError(f"a UnixFS file of {len(links)} links and {len(sizes)} block sizes.")
    if file_size != len(inline) + sum(sizes):
        raise FormatError(
            f"a UnixFS file that claims {file_size} bytes and lists {len(inline) + sum(sizes)}."
        )
    children = tuple(Link(uri, size, total) for (uri, total), size in zip(links, sizes, strict=True))
    return FileNode(inline, children)


def _decode_link(block: bytes) -> tuple[Uri, int]:
    uri: Uri | None = None
    total_size = 0
    for number, value in _fields(block):
        if number == 1 and isinstance(value, bytes) and uri is None:
            uri = uri_from_bytes(value)
        elif number == 3 and isinstance(value, int):
            total_size = value
        elif not (number == 2 and isinstance(value, bytes)):
            raise FormatError(f"a dag-pb link with an unexpected or repeated field {number}.")
    if uri is None:
        raise FormatError("a dag-pb link without a CID.")
    return uri, total_size


def _decode_unixfs(block: bytes) -> tuple[bytes, int, list[int]]:
    kind: int | None = None
    data = b""
    file_size: int | None = None
    sizes: list[int] = []
    for number, value in _fields(block):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2 and isinstance(value, bytes):
            data = value
        elif number == 3 and isinstance(value, int):
            file_size = value
        elif number == 4 and isinstance(value, int):
            sizes.append(value)
        elif number not in (7, 8):  # mode and mtime, added in UnixFS 1.5
            raise FormatError(f"a UnixFS message with an unexpected field {number}.")
    if kind not in (TYPE_RAW, TYPE_FILE):
        raise FormatError(f"a UnixFS node of type {kind}, where a file (2) or raw (0) was expected.")
    return data, len(data) + sum(sizes) if file_size is None else file_size, sizes


def _field(number: int, body: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + varint.encode(len(body)) + body


def _fields(block: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields (field number, value) of a protobuf message, in order."""
    at = 0
    while at < len(block):
        tag, at = varint.decode(block, at)
        if tag & 7 == _VARINT:
            number, at = varint.decode(block, at)
            yield tag >> 3, number
        elif tag & 7 == _BYTES:
            size, at = varint.decode(block, at)
            if size > len(block) - at:
                raise FormatError(f"a protobuf field of {size} bytes, but only {len(block) - at} are left.")
            yield tag >> 3, block[at : at + size]
            at += size
        else:
            raise FormatError(f"a protobuf field of wire type {tag & 7}, which dag-pb does not use.")
