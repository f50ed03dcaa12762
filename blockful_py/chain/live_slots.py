# SPDX-License-Identifier: Apache-2.0
"""The storage slots of LiveChain that an action touches, for its access list (EIP-2930).

A declared slot costs 1,900 gas; its first touch is 2,000 cheaper as a read, 2,100 as a write (EIP-2929).
Layout: docs/reference/contracts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from blockful_py.chain.interface import Interface
from blockful_py.crypto.keccak import keccak, words

_PROGRESS, _HEIGHT, _HEADERS, _TRANSACTIONS = 0, 1, 2, 3
_BLOCK_HASH, _CH, _META = 0, 1, 5
_REFERENCES = 5


def touched(interface: Interface, data: bytes, height: int) -> tuple[int, ...]:
    """Slots of an `append` or `redact` whose call data is `data`; none for other calls.

    `height`: of the newest block, which an append builds on.
    """
    function, arguments = interface.called(data)
    if function == "append":
        block, action = arguments
        return (*_decided(action), *_appended(block[-1], height))
    if function == "redact":
        updates, headers, action = arguments
        return (*_decided(action), *_redacted([each[0] for each in updates], [each[0] for each in headers]))
    return ()


def _decided(action: Sequence[Any]) -> Iterable[int]:
    proposal = action[0][1]
    return _fields(proposal, _PROGRESS, (0,))


def _appended(publications: Sequence[Sequence[Any]], height: int) -> Iterable[int]:
    yield _HEIGHT
    for index, publication in enumerate(publications):
        references = publication[-1]
        count = _REFERENCES + 1 if references else _REFERENCES
        yield from _fields((height + 1) << 32 | index, _TRANSACTIONS, range(count))
    yield from _fields(height + 1, _HEADERS, range(_META + 1))
    yield from _fields(height, _HEADERS, (_BLOCK_HASH,))
    referred = {reference >> 32 for publication in publications for reference in publication[-1]}
    for each in sorted(referred | {height}):
        yield from _fields(each, _HEADERS, (_META,))


def _redacted(positions: Sequence[int], heights: Sequence[int]) -> Iterable[int]:
    for position in positions:
        yield from _fields(position, _TRANSACTIONS, range(_REFERENCES + 1))
    for height in heights:
        yield from _fields(height - 1, _HEADERS, (_BLOCK_HASH,))
        yield from _fields(height, _HEADERS, range(_CH, _META + 1))


def _fields(key: int | bytes, mapping: int, fields: Iterable[int]) -> Iterable[int]:
    base = int.from_bytes(keccak(words(key, mapping)))
    return [(base + field) % 2**256 for field in fields]
