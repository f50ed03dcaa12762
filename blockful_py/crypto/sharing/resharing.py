# SPDX-License-Identifier: Apache-2.0
"""Hands shares on: the next members hold other shares of the same numbers, which do not fit the old ones.

Each old member deals its share, and its share of 80 random masks, to the new ones, by polynomials of their
degree.  So the sums of selections of the dealt numbers, chosen after all have dealt, can be opened.  They lie
on a polynomial of the old degree as the shares do, so a member that dealt others is named, but with
probability 2^-80.  A new share is the value that the factors of Lagrange give, a share of the old secret by a
polynomial with coefficients of every dealer.
(Proactive secret sharing: Herzberg, Jarecki, Krawczyk and Yung, 1995; to other members: Desmedt and Jajodia,
1997.)

t old members suffice.  m of them that deal, with k liars of n, show a lie if m - t >= k, and name it if
m - t >= 2k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.crypto.sharing.dealing import (
    SELECTIONS,
    Dealing,
    DealingProof,
    DealtShares,
    Numbers,
    selection_sums,
)
from blockful_py.crypto.sharing.products import dealt
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.crypto.sharing.rounds import Protocol, Sent
from blockful_py.crypto.sharing.shamir import interpolate, opened
from blockful_py.errors import CheaterError, CryptoError
from blockful_py.types import Bytes32, Rng


@dataclass(frozen=True)
class Circle:
    """Members that hold shares, of degree t - 1: the place of each, from 1 to n, by its index in the run.

    Attributes:
        size: n.
        places: of the members that take part.
    """

    threshold: int
    size: int
    places: Mapping[int, int]

    @property
    def liars(self) -> int:
        """Liars that openings show: absent and lying members may be t - 1."""
        return max(0, self.threshold - 1 - (self.size - len(self.places)))


@dataclass(frozen=True)
class HandingOn:
    """One member's side of handing numbers on, from some circle to another; a member may be of both.

    Attributes:
        index: in the run.
        old: members whose shares fit together, which all deal.
        context: names the run; another for each.
    """

    index: int
    old: Circle
    new: Circle
    field: Residues
    context: bytes
    rng: Rng

    def run(self, share: Array | None, size: int) -> Protocol[tuple[Array | None, Bytes32]]:
        """The member's new share (k, size) and a name of the new shares, the same for all.

        The share is None if the member is not of the new circle.

        Args:
            share: its old one (k, size); None if it is not of the old circle.
            size: how many numbers there are.

        Raises:
            CheaterError: members whose messages fail verification, or who dealt another share.
            CryptoError: too few old members, or a lie whose teller cannot be told.
        """
        dealers = sorted(self.old.places)
        if len(dealers) < self.old.threshold:
            raise CryptoError(
                f"{len(dealers)} members have old shares, {self.old.threshold} are needed to hand them on: "
                "start the others, and repeat."
            )
        first = dealers[: self.old.threshold]
        masks = Numbers((SELECTIONS,), None)
        drawn = [self.field.random((SELECTIONS,), self.rng)] if self.index in first else None
        _, hidden = yield from self._dealt(self.old, "masks", (masks,), drawn, first)
        mine = None
        if share is not None:
            mask = self.field.reduced(
                sum((each.numbers[0] for each in hidden.values()), np.zeros(1, np.int64))
            )
            mine = [share, mask]
        kinds = (Numbers((size,), None), masks)
        proofs, parts = yield from self._dealt(self.new, "shares", kinds, mine, dealers)
        name = fingerprint(self.context, *(one for each in dealers for one in proofs[each].commitments))
        own = None
        if parts:
            sums = [selection_sums(self.field, name, *parts[each].numbers).T for each in dealers]
            own = np.stack(sums, 1)
        got = yield Sent(own)
        self._require_consistent(dealers, got.public)
        if not parts:
            return None, name
        few = {self.old.places[each]: parts[each].numbers[0] for each in first}
        return interpolate(self.field, few), name

    def _dealt(
        self,
        circle: Circle,
        what: str,
        kinds: tuple[Numbers, ...],
        numbers: list[Array] | None,
        dealers: Sequence[int],
    ) -> Protocol[tuple[dict[int, DealingProof], dict[int, DealtShares]]]:
        context = fingerprint(self.context, what.encode())
        rules = Dealing(self.field, circle.threshold, circle.size, context, kinds)
        return dealt(self.index, rules, numbers, dealers, self.rng, circle.places)

    def _require_consistent(self, dealers: Sequence[int], told: Mapping[int, object]) -> None:
        shape = (self.field.count, len(dealers), SELECTIONS)
        sums = {
            place: each
            for j, place in self.new.places.items()
            if isinstance(each := told.get(j), np.ndarray) and each.shape == shape
        }
        if missing := [j for j, place in self.new.places.items() if place not in sums]:
            raise CheaterError(missing, "the sums of shares handed on")
        shown, wrong = opened(self.field, sums, self.new.threshold - 1, self.new.liars)
        by_place = {self.old.places[each]: shown[:, i] for i, each in enumerate(dealers)}
        liars = min(self.old.liars, len(dealers) - self.old.threshold)
        _, others = opened(self.field, by_place, self.old.threshold - 1, liars)
        culprits = [j for j, place in self.new.places.items() if place in wrong]
        culprits += [j for j, place in self.old.places.items() if place in others]
        if culprits:
            raise CheaterError(sorted({*culprits}), "a share handed on")
