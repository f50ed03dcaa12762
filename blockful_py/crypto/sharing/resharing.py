# SPDX-License-Identifier: Apache-2.0
"""Hands shares on: the next members hold other shares of the same numbers, which do not fit the old ones.

Each old member deals its share, and its share of 80 random masks.  So the sums of selections of the dealt
numbers, chosen after all have dealt, can be opened.  They lie on a polynomial of degree t - 1 as the shares
do, so a member that dealt others is named, but with probability 2^-80.  A new share is the value that the
factors of Lagrange give, a share of the old secret by a polynomial with coefficients of every dealer.
(Proactive secret sharing: Herzberg, Jarecki, Krawczyk and Yung, 1995.)
"""

from __future__ import annotations

import numpy as np

from blockful_py.crypto.sharing.dealing import SELECTIONS, Dealing, Numbers, selection_sums
from blockful_py.crypto.sharing.products import Shareholder, dealt, shared
from blockful_py.crypto.sharing.residues import Array, fingerprint
from blockful_py.crypto.sharing.rounds import Protocol, Sent
from blockful_py.crypto.sharing.shamir import interpolate, opened
from blockful_py.errors import CheaterError


def reshared(
    holder: Shareholder, share: Array | None, shape: tuple[int, ...], dealers: list[int], use: str
) -> Protocol[Array]:
    """The member's new share (k, ...).

    Args:
        share: the old one; None for a newcomer in the place of a member that left.
        shape: of the numbers, without k.
        dealers: members with old shares, at least 2t - 1.

    Raises:
        CheaterError: members whose messages fail verification, or who dealt another share.
        CryptoError: too few dealers.
    """
    field, size = holder.field, int(np.prod(shape, dtype=np.int64))
    masks = Numbers((SELECTIONS,), None)

    def rules(what: str, *kinds: Numbers) -> Dealing:
        context = fingerprint(holder.context, use.encode(), what.encode())
        return Dealing(field, holder.threshold, holder.size, context, kinds)

    first = dealers[: holder.threshold]
    drawn = [field.random((SELECTIONS,), holder.rng)] if holder.index in first else None
    (mask,) = yield from shared(holder, rules("masks", masks), drawn, first)
    mine = [share.reshape(field.count, -1), mask] if share is not None else None
    again = rules("shares", Numbers((size,), None), masks)
    proofs, parts = yield from dealt(holder, again, mine, dealers)
    seed = fingerprint(again.context, *(one for each in dealers for one in proofs[each].commitments))
    sums = np.stack([selection_sums(field, seed, *parts[each].numbers).T for each in dealers], 1)
    got = yield Sent(sums)
    told = {
        j: each
        for j, each in got.public.items()
        if isinstance(each, np.ndarray) and each.shape == sums.shape and each.dtype == np.int64
    }
    if missing := sorted({*holder.present} - {*told}):
        raise CheaterError(missing, "the sums of shares handed on")
    shown, wrong = opened(field, told, holder.threshold - 1, holder.liars)
    by_dealer = {each: shown[:, i] for i, each in enumerate(dealers)}
    _, others = opened(field, by_dealer, holder.threshold - 1, holder.liars)
    if wrong or others:
        raise CheaterError([*wrong, *others], "a share handed on")
    few = {each: parts[each].numbers[0] for each in first}
    return interpolate(field, few).reshape(field.count, *shape)
