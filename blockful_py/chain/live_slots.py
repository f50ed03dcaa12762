# SPDX-License-Identifier: Apache-2.0
"""Storage slots of LiveChain that an action touches, for its access list (EIP-2930).

A declared slot costs 1,900 gas; its first touch is then 2,000 gas cheaper as a read and 2,100 as a write
(EIP-2929).  Layout: docs/reference/contracts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.crypto.keccak import keccak, words

_PROGRESS, _COUNTS, _HEAD, _ENTRIES, _URIS = 0, 1, 2, 3, 4
_SHARED = 4
"""Entries per slot: a block's header and its first three models, then four models each."""


def touched(interface: Interface, data: bytes, height: int) -> tuple[int, ...]:
    """Slots touched by an `append` or `redact` with this call data; empty for other calls.

    `height` is the height of the newest block, on which an append builds.
    """
    function, arguments = interface.called(data)
    if function == "append":
        block, action = arguments
        return (*_counted(action), *_appended(block[-1], height))
    if function == "redact":
        updates, _, action = arguments
        return (*_counted(action), *_redacted([each[0] for each in updates]))
    return ()


def entry_key(height: int, number: int) -> int:
    """Key of the slot of a block's entry: entry 0 is its header, entry i + 1 its model at index i."""
    return height << 32 | number // _SHARED


def _counted(action: Sequence[Any]) -> Iterable[int]:
    """Slot of the progress of a proposal with several chunks."""
    return [_place(action[0][1], _PROGRESS)] if action[2] != 1 else []


def _appended(publications: Sequence[Sequence[Any]], height: int) -> Iterable[int]:
    yield _COUNTS
    yield _HEAD
    count = len(publications)
    yield from (_place((height + 1) << 32 | index, _URIS) for index in range(count))
    keys = {entry_key(height + 1, number) for number in range(count + 1)}
    keys |= {entry_key(place >> 32, 0) for publication in publications for place in publication[-1]}
    yield from (_place(key, _ENTRIES) for key in sorted(keys))


def _redacted(positions: Sequence[int]) -> Iterable[int]:
    yield _COUNTS
    yield from (_place(position, _URIS) for position in positions)
    keys = {entry_key(place >> 32, number) for place in positions for number in (0, (place & 0xFFFFFFFF) + 1)}
    yield from (_place(key, _ENTRIES) for key in sorted(keys))


def _place(key: int | bytes, mapping: int) -> int:
    return int.from_bytes(keccak(words(key, mapping)))
