# SPDX-License-Identifier: Apache-2.0
"""Spot checks of a computation in intervals: what is committed to, what is asked for, and the odds.

The prover commits to its inputs, item by item, and to its state between any two intervals.  Randomness that
nobody has yet then draws the intervals that it must open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256

from blockful_py.crypto.randomness import SeededRng

SALT_BYTES = 32


def salts(secret: int, count: int) -> tuple[bytes, ...]:
    """A salt for each of the owner's items; the same secret always gives the same."""
    rng = SeededRng(secret.to_bytes(32, "big"), "sample salts")
    return tuple(rng.derive(i)(SALT_BYTES) for i in range(count))


def leaf(salt: bytes, item: bytes) -> bytes:
    """`SHA-256(salt || item)`: hides the item until salt and item are shown."""
    return sha256(salt + item).digest()


def commitment(leaves: Sequence[bytes]) -> bytes:
    """`SHA-256(leaf_0 || leaf_1 || ...)`, over whole leaves in order.

    Not a tree: whoever discloses one leaf shows the whole list, so a leaf's place is where it stands, and no
    place has two leaves.
    """
    return sha256(b"".join(leaves)).digest()


def challenged(beacon: bytes, committed: bytes, intervals: int, count: int) -> tuple[int, ...]:
    """`count` of the intervals 0 to `intervals - 1`, each subset equally likely, ascending: those of the
    smallest `SHA-256(beacon || committed || interval)`.

    `beacon`: 32 bytes that were not known when `committed`, 32 bytes, was fixed.
    """
    drawn = sorted(range(intervals), key=lambda i: sha256(beacon + committed + i.to_bytes(4, "big")).digest())
    return tuple(sorted(drawn[:count]))


def chance_of_catching(intervals: int, count: int, forged: int = 1) -> float:
    """`1 - C(m - f, r) / C(m, r)`: that one of f forged intervals is among r of m.  One forged interval is
    enough to reach any result, so what a checked result is worth is `r / m`."""
    return 1 - math.comb(intervals - forged, count) / math.comb(intervals, count)
