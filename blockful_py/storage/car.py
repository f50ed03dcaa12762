# SPDX-License-Identifier: Apache-2.0
"""CAR v1: a stream of blocks with their CIDs, below one root.

    CAR      varint(length) || header || section*
    header   DAG-CBOR of {"roots": [CID], "version": 1}
    section  varint(length of CID and block) || CID || block

Source: https://ipld.io/specs/transport/car/carv1/.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from blockful_py.errors import FormatError, IntegrityError
from blockful_py.storage import varint
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import CID_SIZE, cid_bytes, cid_string, uri_from_bytes
from blockful_py.types import Uri

MEDIA_TYPE = "application/vnd.ipld.car"
_BEFORE_ROOT = bytes.fromhex("a265726f6f747381d82a582500")
"""A map of two pairs; the text "roots"; an array of one; tag 42 and 37 bytes, the first of them 0."""
_AFTER_ROOT = bytes.fromhex("6776657273696f6e01")
"""The text "version"; the number 1."""
_CID_V0_SIZE = 34
_HEADER_SIZE = len(_BEFORE_ROOT) + CID_SIZE + len(_AFTER_ROOT)
_NUMBER_SIZE = 10
"""Maximum bytes of a varint."""

Block = tuple[Uri, bytes]


def write(root: Uri, blocks: Iterable[Block]) -> Iterator[bytes]:
    """Yields a CAR of `blocks` without copying them."""
    yield varint.encode(_HEADER_SIZE) + _BEFORE_ROOT + cid_bytes(root) + _AFTER_ROOT
    for uri, block in blocks:
        cid = cid_bytes(uri)
        yield varint.encode(len(cid) + len(block)) + cid
        yield block


def read(data: bytes) -> Iterator[Block]:
    """Yields the blocks of a whole CAR; errors as `CarReader`."""
    reader = CarReader()
    yield from reader.feed(data)
    reader.end()


class CarReader:
    """Reads a CAR as it arrives, holding at most one block and one piece in memory.

    Raises FormatError if it is malformed or has a block over 2 MiB, and IntegrityError if a block does not
    hash to its CID.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[Block]:
        """Yields the verified blocks that `piece` completes."""
        self._pending += piece
        while (section := self._section()) is not None:
            if self._begun:
                yield _block(section)
            else:
                _require_header(section)
                self._begun = True

    def end(self) -> None:
        """Checks that the CAR is whole, as far as a CAR can tell; raises FormatError otherwise."""
        if self._pending or not self._begun:
            raise FormatError("a CAR that ends inside its header or a block: it is truncated.")

    def _section(self) -> bytes | None:
        """The next section, or the header; None until it has arrived completely."""
        first = self._pending[:_NUMBER_SIZE]
        if len(first) < _NUMBER_SIZE and all(byte > 0x7F for byte in first):
            return None
        size, start = varint.decode(first, 0)
        most = CID_SIZE + MAX_BLOCK_SIZE if self._begun else _HEADER_SIZE
        if size > most:
            raise FormatError(f"a section of {size} bytes in a CAR, over the maximum of {most}.")
        if len(self._pending) < start + size:
            return None
        section = bytes(memoryview(self._pending)[start : start + size])
        del self._pending[: start + size]
        return section


def _require_header(header: bytes) -> None:
    """Checks the header of a CAR v1 with one root; raises FormatError otherwise."""
    before, after = len(_BEFORE_ROOT), len(_BEFORE_ROOT) + CID_SIZE
    if header[:before] != _BEFORE_ROOT or header[after:] != _AFTER_ROOT:
        raise FormatError("the data do not begin like a CAR of version 1 with one root.")
    uri_from_bytes(header[before:after])


def _block(section: bytes) -> Block:
    size = _CID_V0_SIZE if section.startswith(b"\x12\x20") else CID_SIZE
    uri, block = uri_from_bytes(section[:size]), section[size:]
    if hashlib.sha256(block).digest() != uri.digest:
        raise IntegrityError(f"the bytes in a CAR for {cid_string(uri)} do not hash to it.")
    return uri, block
