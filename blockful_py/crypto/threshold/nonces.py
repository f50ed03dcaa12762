# SPDX-License-Identifier: Apache-2.0
"""A signer's secret nonces: bound to their use, hedged, kept in memory only, used once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from blockful_py.crypto import curve
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import NonceReuseError
from blockful_py.types import Address, Point, Rng

DST_NONCE = tag("frost-nonce")
OWN_PROCESS = bytes(20)
"""Address of a leader that runs in the member's own process."""
MOST_PAIRS = 1 << 15
"""Maximum number of pairs of all leaders, in addition to the newest ones: some 6 MB."""

Use = TypeVar("Use")
"""Identifier of the use of nonces."""


def draw(secret: int, context: bytes, count: int, rng: Rng) -> list[tuple[int, int]]:
    """Draws nonce pairs (d, e) for `count` messages.

    Each is H(DST_frost-nonce || fresh || x_i || context || item || which) mod n.  `context` is 32 bytes that
    identify the use of the nonces completely, so that another use has other nonces even if `rng` repeats
    itself.  `fresh` is 32 bytes of `rng`; the secret hedges against a weak one (RFC 9591, section 4.1).
    Raises ValueError for a context of another length.
    """
    if len(context) != 32:
        raise ValueError(f"a context has 32 bytes, not {len(context)}")
    bound = DST_NONCE + rng(32) + secret.to_bytes(32, "big") + context
    ends = (item.to_bytes(32, "big") for item in range(count))
    return [(_nonzero(bound + end + b"\0"), _nonzero(bound + end + b"\1")) for end in ends]


def commitment(pair: tuple[int, int]) -> tuple[Point, Point]:
    """Nonce points (D, E) = (dG, eG)."""
    return curve.multiply_base(pair[0]), curve.multiply_base(pair[1])


class NonceStore(Generic[Use]):
    """Secret nonce pairs, by leader and use; taking them removes them.

    A leader has room for `room` uses; beyond that, its oldest are dropped.  Over all leaders, at most
    MOST_PAIRS pairs are kept in addition to the newest ones; beyond that, the oldest of the leader with the
    most pairs are dropped.  A leader's nonces are therefore never dropped in favour of a leader with more.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: dict[bytes, dict[Use, list[tuple[int, int]]]] = {}

    def __len__(self) -> int:
        """Number of pairs."""
        return sum(map(_pairs_in, self._kept.values()))

    def put(self, leader: Address, use: Use, pairs: Sequence[tuple[int, int]]) -> None:
        """Keeps the pairs for a use.  Raises NonceReuseError if the leader already has some for it."""
        if use in self._kept.get(leader, {}):
            raise NonceReuseError("this session has begun, and its nonces are kept; take another identifier.")
        own = self._kept.pop(leader, {})
        while len(own) >= self._room:
            del own[next(iter(own))]
        self._kept[leader] = own  # moves the leader to the end
        while len(self) > MOST_PAIRS:
            self._drop()
        own[use] = list(pairs)
        self._kept[leader] = own

    def take(self, leader: Address, use: Use) -> list[tuple[int, int]]:
        """Removes and returns the pairs.  Raises NonceReuseError if they are missing or were used."""
        own = self._kept.get(leader, {})
        pairs = own.pop(use, None)
        if not own:
            self._kept.pop(leader, None)
        if pairs is None:
            raise NonceReuseError(
                "these nonces are used, dropped for newer ones, or of another leader or use; ask for others."
            )
        return pairs

    def _drop(self) -> None:
        leader, own = max(self._kept.items(), key=lambda each: _pairs_in(each[1]))
        del own[next(iter(own))]
        if not own:
            del self._kept[leader]


def _pairs_in(uses: Mapping[Any, Sequence[tuple[int, int]]]) -> int:
    return sum(map(len, uses.values()))


def _nonzero(seed: bytes) -> int:
    value = int.from_bytes(keccak(seed), "big") % N
    return value or _nonzero(keccak(seed))
