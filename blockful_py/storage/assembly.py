# SPDX-License-Identifier: Apache-2.0
"""A file whose blocks come one by one from anybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockful_py.errors import FormatError
from blockful_py.storage.bounds import Bounds, require_block_size
from blockful_py.storage.cid import cid_string
from blockful_py.storage.dag_pb import decode
from blockful_py.storage.unixfs import MAX_DEPTH
from blockful_py.types import Codec, Uri


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block is in the file; `size` is what its parent says, None of the root."""

    size: int | None
    depth: int


class Assembly:
    """Knows the blocks of a file as far as its nodes are here, and which of them are missing.

    A file of more than `limit` bytes, with those of repeated blocks, beyond its `Bounds`, or of more than 8
    levels is refused as soon as a node shows it; so is one whose sizes do not add up.
    """

    def __init__(self, root: Uri, limit: int, here: Callable[[Uri], bytes | None]) -> None:
        """`here` gives a block that this machine has, verified, or None.  Raises FormatError as `take`."""
        self._root = root
        self._bounds = Bounds(root, limit)
        self._here = here
        self._places: dict[Uri, _Place] = {root: _Place(None, 0)}
        self._missing: dict[Uri, None] = {root: None}
        self._find([root])

    @property
    def missing(self) -> tuple[Uri, ...]:
        """Known blocks that are not here, parents of unknown ones among them."""
        return tuple(self._missing)

    @property
    def blocks(self) -> tuple[Uri, ...]:
        """All known blocks, parents before children."""
        return tuple(self._places)

    def __contains__(self, uri: object) -> bool:
        """Whether a block is known to be of the file."""
        return uri in self._places

    def is_missing(self, uri: Uri) -> bool:
        return uri in self._missing

    def take(self, uri: Uri, block: bytes) -> None:
        """Takes a missing block, which hashes to its CID.

        Raises:
            FormatError: the file is not one that is read here, whoever sends its blocks.
        """
        self._find(self._take(uri, block))

    def _find(self, missing: list[Uri]) -> None:
        """Takes those blocks that are here, and those that they show to be missing."""
        while missing:
            uri = missing.pop()
            block = self._here(uri)
            if block is not None:
                missing += self._take(uri, block)

    def _take(self, uri: Uri, block: bytes) -> list[Uri]:
        """Takes a block; returns the blocks that it shows to be missing."""
        require_block_size(uri, block)
        place = self._places[uri]
        if uri.codec is Codec.RAW:
            self._require_size(uri, place, len(block))
            del self._missing[uri]
            return []
        if place.depth == MAX_DEPTH:
            raise FormatError(f"{cid_string(self._root)} has more than {MAX_DEPTH} levels of nodes.")
        self._bounds.count_node(len(block))
        node = decode(block)
        self._require_size(uri, place, node.size)
        shown = []
        for link in node.links:
            known = self._places.get(link.uri)
            if known is None and link.size:
                self._places[link.uri] = _Place(link.size, place.depth + 1)
                shown.append(link.uri)
            elif known is None or known.size != link.size:
                raise FormatError(
                    f"{cid_string(uri)} says that {cid_string(link.uri)} holds {link.size} bytes, which is "
                    "nothing, or not what another node says."
                )
        self._bounds.count_blocks(len(shown) + (place.size is None))
        del self._missing[uri]
        self._missing.update(dict.fromkeys(shown))
        return shown

    def _require_size(self, uri: Uri, place: _Place, size: int) -> None:
        if place.size is None:
            self._bounds.require_length(size)
        elif size != place.size:
            raise FormatError(f"{cid_string(uri)} holds {size} bytes, its parent says {place.size}.")
