# SPDX-License-Identifier: Apache-2.0
"""A signer's secret nonces: bound to what they are for, hedged, kept in memory only, used once."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.crypto import curve
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import NonceReuseError
from blockful_py.types import Point, Rng

DST_NONCE = tag("frost-nonce")


def draw(secret: int, context: bytes, count: int, rng: Rng) -> list[tuple[int, int]]:
    """(d, e) of `count` messages: H(DST_frost-nonce || fresh || x_i || context || item || which) mod n.

    `context`: 32 bytes that identify everything the nonces are for, so that another use has other nonces even
    where `rng` repeats itself.  `fresh` is 32 bytes of `rng`; the secret hedges against a weak one (RFC 9591,
    section 4.1).  Raises ValueError for a context of another length.
    """
    if len(context) != 32:
        raise ValueError(f"a context has 32 bytes, not {len(context)}")
    bound = DST_NONCE + rng(32) + secret.to_bytes(32, "big") + context
    ends = (item.to_bytes(32, "big") for item in range(count))
    return [(_nonzero(bound + end + b"\0"), _nonzero(bound + end + b"\1")) for end in ends]


def commitment(pair: tuple[int, int]) -> tuple[Point, Point]:
    """(D, E) = (dG, eG)."""
    return curve.multiply_base(pair[0]), curve.multiply_base(pair[1])


class NonceStore:
    """Nonce pairs by session; taking them removes them."""

    def __init__(self) -> None:
        self._pairs: dict[bytes, list[tuple[int, int]]] = {}

    def put(self, session: bytes, pairs: Sequence[tuple[int, int]]) -> None:
        """Keeps the pairs of a session.  Raises NonceReuseError when it has some already."""
        if session in self._pairs:
            raise NonceReuseError(f"session {session.hex()} has begun; take another identifier.")
        self._pairs[session] = list(pairs)

    def take(self, session: bytes) -> list[tuple[int, int]]:
        """Removes and returns the pairs.  Raises NonceReuseError when there are none (any more)."""
        pairs = self._pairs.pop(session, None)
        if pairs is None:
            raise NonceReuseError(f"session {session.hex()} has no unused nonces; begin a new session.")
        return pairs

    def discard(self, session: bytes) -> None:
        """Forgets the pairs of a session that will not be signed."""
        self._pairs.pop(session, None)


def _nonzero(seed: bytes) -> int:
    value = int.from_bytes(keccak(seed), "big") % N
    return value or _nonzero(keccak(seed))
