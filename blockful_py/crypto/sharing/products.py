# SPDX-License-Identifier: Apache-2.0
"""Brings products of shares back to degree t - 1, divided by D_s, in one opening.

A member's products of shares of degree t - 1 are shares of degree 2t - 2 of the product v.  t members each
deal masks h and l below D_s, and residues g, with proofs (`dealing`).  With their sums H, L, G,

    z = v + o + D_s H + L,   o = D_s 2^b,       opened by shares v_j + o + D_s H_j + L_j + j^(t-1) G_j,
    v / D_s  =  floor(z / D_s) - H - 2^b  +  at most t,

and the last line is of degree t - 1 again.  One honest dealer's `D_s h + l` is uniform over 2^40 times the
range of v, and g makes the polynomial that is opened uniform at the other places.  A dishonest dealer's l may
exceed D_s by `slack` bits, as far as its proof shows.  So v / D_s is right to `t 2^(slack + 1)`, though t - 1
members lie: `error_bits`.

n >= 3t - 2 members detect wrong shares of t - 1 of them in every opening.  If k of them are absent, the rest
detect t - 1 - k: absent and wrong ones together may be t - 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from blockful_py.crypto.sharing.dealing import HIDING, Dealing, DealingProof, DealtShares, Numbers, slack
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint, scale
from blockful_py.crypto.sharing.rounds import Protocol, Sent
from blockful_py.crypto.sharing.shamir import opened
from blockful_py.errors import CheaterError
from blockful_py.types import Rng

T = TypeVar("T")


@dataclass(frozen=True)
class Shareholder:
    """A member's place: index 1 to n, threshold t, the field, the use, and the source of its secrets.

    Attributes:
        absent: members that take no part, the same for all who do.

    Raises ValueError: t is below 2, n below 3t - 2, so that t - 1 liars could go undetected, or t absent.
    """

    index: int
    threshold: int
    size: int
    field: Residues
    context: bytes
    rng: Rng
    absent: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if len(self.absent) >= self.threshold:
            raise ValueError(f"expected at most {self.threshold - 1} absent members, not {len(self.absent)}")
        if not (self.threshold >= 2 and 1 <= self.index <= self.size):
            raise ValueError(
                f"expected a threshold from 2 and an index from 1 to {self.size}, not {self.threshold}, "
                f"{self.index}"
            )
        if self.size < 3 * self.threshold - 2:
            raise ValueError(
                f"{self.size} members detect {(self.size - 1) // 3} liars in products of shares, not "
                f"{self.threshold - 1}: use {3 * self.threshold - 2} members, or a lower threshold"
            )

    @property
    def liars(self) -> int:
        """Liars that openings must show."""
        return self.threshold - 1 - len(self.absent)

    @property
    def present(self) -> list[int]:
        return [j for j in range(1, self.size + 1) if j not in self.absent]


def error_bits(size: int, threshold: int) -> int:
    """Bits of the largest error of `divided`, in units of its result, for so many numbers."""
    return slack(size) + threshold.bit_length() + 1


def divided_bits(size: int, threshold: int, bits: int) -> int:
    """Bits of a field in which `divided` is right for so many numbers below 2^bits."""
    return bits + HIDING + slack(size) + threshold.bit_length() + 4


def divided(holder: Shareholder, local: Array, bits: int, primes: int, use: str) -> Protocol[Array]:
    """Shares of degree t - 1 of about v / D_s, from shares (k, ...) of degree 2t - 2 or less of v.

    Args:
        bits: |v| is below 2^bits.
        primes: s.
        use: names this opening in the proofs; another for each.

    Raises:
        CheaterError: dealers whose masks fail verification, or members whose shares are wrong, where told.
        CryptoError: shares are wrong, and whose cannot be told.
        ValueError: the field is too small.
    """
    shape, field = local.shape[1:], holder.field
    size = int(np.prod(shape, dtype=np.int64))
    if field.modulus >> divided_bits(size, holder.threshold, bits) == 0:
        raise ValueError(
            f"expected a field of {divided_bits(size, holder.threshold, bits)} bits: use more primes"
        )
    high = max(0, bits + 1 + HIDING - scale(primes).bit_length() + 1)
    kinds = (Numbers(shape, high), Numbers(shape, 31 * primes), Numbers(shape, None))
    rules = Dealing(field, holder.threshold, holder.size, fingerprint(holder.context, use.encode()), kinds)
    numbers = [
        field.random_below((size,), *divmod(high, 31), holder.rng),
        field.random_below((size,), primes, 0, holder.rng),
        field.random((size,), holder.rng),
    ]
    dealers = [holder.present[(sum(use.encode()) + i) % len(holder.present)] for i in range(holder.threshold)]
    h, lows, g = yield from shared(holder, rules, numbers if holder.index in dealers else None, dealers)
    base = scale(primes)
    raised = field.scaled(g, holder.index ** (holder.threshold - 1))
    mask = field.reduced(field.scaled(h, base) + lows + raised).reshape(local.shape)
    up = max(0, bits - base.bit_length() + 1)  # o = D_s 2^up is at least 2^bits
    offset = field.of(base << up).reshape(-1, *([1] * len(shape)))
    z = yield from open_sums(holder, field.reduced(local + mask + offset), 2 * holder.threshold - 2)
    known = field.floor(z, primes) - field.of(1 << up).reshape(-1, *([1] * len(shape)))
    return field.reduced(known - h.reshape(local.shape))


def shared(
    holder: Shareholder, rules: Dealing, numbers: list[Array] | None, dealers: list[int]
) -> Protocol[tuple[Array, ...]]:
    """Shares (k, size) of the sums of all dealers' numbers, by kind.  Takes and raises as `dealt`."""
    places = {j: j for j in holder.present}
    _, shares = yield from dealt(holder.index, rules, numbers, dealers, holder.rng, places)
    return tuple(
        rules.field.reduced(sum((each.numbers[i] for each in shares.values()), start=np.zeros(1, np.int64)))
        for i in range(len(rules.kinds))
    )


def dealt(
    index: int,
    rules: Dealing,
    numbers: list[Array] | None,
    dealers: Sequence[int],
    rng: Rng,
    places: Mapping[int, int],
) -> Protocol[tuple[dict[int, DealingProof], dict[int, DealtShares]]]:
    """Proofs and checked shares by dealer; no shares without a place.

    Args:
        index: the member's in the run.
        numbers: its own; None if it is no dealer.
        places: to which shares are dealt, by index in the run.

    Raises CheaterError: dealers whose messages fail verification.
    """
    proof, shares = rules.deal(index, numbers, rng) if numbers is not None else (None, {})
    to = {j: shares[place] for j, place in places.items()} if shares else {}
    got = yield Sent(proof, to)
    _require_kind({each: got.public[each] for each in dealers}, DealingProof, "the proof of shares dealt")
    proofs: dict[int, DealingProof] = {each: got.public[each] for each in dealers}
    mine: dict[int, DealtShares] = {
        each: got.private[each] for each in dealers if isinstance(got.private.get(each), DealtShares)
    }
    own = places.get(index)
    told = yield Sent(rules.complaints(own, proofs, mine) if own is not None else ())
    _require_kind(told.public, tuple, "complaints of shares dealt")
    complaints: Mapping[int, tuple[int, ...]] = {
        place: told.public[j] for j, place in places.items() if j in told.public
    }
    if any(complaints.values()):
        accusers = [place for place, accused in complaints.items() if index in accused]
        heard = yield Sent({place: shares[place] for place in accusers if place in shares})
        _require_kind({each: heard.public[each] for each in dealers}, Mapping, "the shares dealt")
        rules.settle(proofs, complaints, heard.public)
        if own is not None:
            mine |= {each: heard.public[each][own] for each in complaints[own]}
    return proofs, {each: mine[each] for each in dealers} if own is not None else {}


def _require_kind(messages: Mapping[int, Any], kind: type, what: str) -> None:
    if wrong := [member for member, each in messages.items() if not isinstance(each, kind)]:
        raise CheaterError(wrong, what)


def open_sums(holder: Shareholder, share: Array, degree: int) -> Protocol[Array]:
    """Opens shares (k, ...) to everyone.  Raises CheaterError or CryptoError for wrong ones."""
    got = yield Sent(share)
    found: dict[int, Any] = {
        member: each
        for member, each in got.public.items()
        if isinstance(each, np.ndarray) and each.shape == share.shape and each.dtype == np.int64
    }
    if missing := sorted({*holder.present} - {*found}):
        raise CheaterError(missing, "a share of a sum to open")
    value, wrong = opened(holder.field, found, degree, holder.liars)
    if wrong:
        raise CheaterError(wrong, "a share of a sum to open")
    return value
