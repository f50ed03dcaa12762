# SPDX-License-Identifier: Apache-2.0
"""Spot checks of a computation in intervals: commitments, challenges, and the odds of detection.

The prover commits to its inputs, item by item, and to its state between any two intervals.  Randomness that
is unknown at that time then draws the intervals that it must open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from hashlib import sha256

from blockful_py.crypto.randomness import SeededRng

SALT_BYTES = 32


def salts(secret: int, count: int) -> tuple[bytes, ...]:
    """A salt for each of the owner's items, derived from the secret alone."""
    rng = SeededRng(secret.to_bytes(32, "big"), "sample salts")
    return tuple(rng.derive(i)(SALT_BYTES) for i in range(count))


def leaf(salt: bytes, item: bytes) -> bytes:
    """Leaf `SHA-256(salt || item)`, which hides the item until salt and item are disclosed."""
    return sha256(salt + item).digest()


def commitment(leaves: Sequence[bytes]) -> bytes:
    """Commitment `SHA-256(leaf_0 || leaf_1 || ...)`, over whole leaves in order.

    It is not a tree: disclosing one leaf means disclosing the whole list.  A leaf's position is therefore its
    index, and no position has two leaves.
    """
    return sha256(b"".join(leaves)).digest()


def challenged(beacon: bytes, committed: bytes, intervals: int, count: int) -> tuple[int, ...]:
    """Draws `count` of the intervals 0 to `intervals - 1`, each subset equally likely; ascending.

    The drawn intervals have the smallest `SHA-256(beacon || committed || interval)`.  `beacon` is 32 bytes
    that were unknown when `committed`, 32 bytes, was fixed.
    """
    drawn = sorted(range(intervals), key=lambda i: sha256(beacon + committed + i.to_bytes(4, "big")).digest())
    return tuple(sorted(drawn[:count]))


def drawn_order(beacon: bytes, committed: bytes, accounts: Iterable[bytes]) -> tuple[bytes, ...]:
    """Draws an order of accounts, each order equally likely: by `SHA-256(beacon || committed || account)`.

    Leaving an account out does not change the order of the others.  Arguments as in `challenged`.
    """
    return tuple(sorted(accounts, key=lambda each: sha256(beacon + committed + each).digest()))


def chance_of_catching(intervals: int, count: int, forged: int = 1) -> float:
    """Probability that one of f forged intervals is among r of m: `1 - C(m - f, r) / C(m, r)`.

    One forged interval suffices to reach any result, so the assurance of a spot check is `r / m`.
    """
    return 1 - math.comb(intervals - forged, count) / math.comb(intervals, count)
