# SPDX-License-Identifier: Apache-2.0
"""Assembles a file whose blocks arrive one by one from any machine."""

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
    """Position of a block in the file; `size` is as its parent states, None for the root."""

    size: int | None
    depth: int


class Assembly:
    """Tracks the known blocks of a file and which of them are missing.

    Rejects a file as soon as a node shows that it has more than `limit` bytes (counting repeated blocks),
    exceeds its `Bounds`, has more than 8 levels, or has inconsistent sizes.
    """

    def __init__(self, root: Uri, limit: int, here: Callable[[Uri], bytes | None]) -> None:
        """Begins with the root; `here` returns a verified local block, or None.

        Raises FormatError as `take`.
        """
        self._root = root
        self._bounds = Bounds(root, limit)
        self._here = here
        self._places: dict[Uri, _Place] = {root: _Place(None, 0)}
        self._missing: dict[Uri, None] = {root: None}
        self._find([root])

    @property
    def missing(self) -> tuple[Uri, ...]:
        """Known blocks that are not here; some may be parents of unknown blocks."""
        return tuple(self._missing)

    @property
    def blocks(self) -> tuple[Uri, ...]:
        """All known blocks, parents before children."""
        return tuple(self._places)

    def __contains__(self, uri: object) -> bool:
        """Whether a block is known to belong to the file."""
        return uri in self._places

    def is_missing(self, uri: Uri) -> bool:
        return uri in self._missing

    def take(self, uri: Uri, block: bytes) -> None:
        """Adds a missing block; the caller has checked its hash.

        Raises FormatError if the file is not acceptable, regardless of who sends it.
        """
        self._find(self._take(uri, block))

    def _find(self, missing: list[Uri]) -> None:
        """Adds local blocks, and then the local ones among the blocks they link to."""
        while missing:
            uri = missing.pop()
            block = self._here(uri)
            if block is not None:
                missing += self._take(uri, block)

    def _take(self, uri: Uri, block: bytes) -> list[Uri]:
        """Adds a block; returns the missing blocks that it links to."""
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
                    "zero, or contradicts another node."
                )
        self._bounds.count_blocks(len(shown) + (place.size is None))
        del self._missing[uri]
        self._missing.update(dict.fromkeys(shown))
        return shown

    def _require_size(self, uri: Uri, place: _Place, size: int) -> None:
        if place.size is None:
            self._bounds.require_length(size)
        elif size != place.size:
            raise FormatError(f"{cid_string(uri)} holds {size} bytes, but its parent says {place.size}.")
