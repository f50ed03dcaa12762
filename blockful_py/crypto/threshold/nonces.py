# SPDX-License-Identifier: Apache-2.0
"""A signer's secret nonces: hedged, kept in memory only, used once."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import NonceReuseError
from blockful_py.types import Rng

DST_NONCE = tag("frost-nonce")


def draw(secret: int, session: bytes, count: int, rng: Rng) -> list[tuple[int, int]]:
    """(d, e) of `count` messages: H(DST_frost-nonce || fresh || x_i || H(session) || item || which) mod n.

    Fresh randomness makes them unpredictable; the share keeps them so where the generator is weak
    (RFC 9591, section 4.1).
    """
    bound = secret.to_bytes(32, "big") + keccak(session)
    pairs = []
    for item in range(count):
        end = bound + item.to_bytes(32, "big")
        pairs.append(
            (_nonzero(DST_NONCE + rng(32) + end + b"\0"), _nonzero(DST_NONCE + rng(32) + end + b"\1"))
        )
    return pairs


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
