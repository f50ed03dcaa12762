# SPDX-License-Identifier: Apache-2.0
"""Dealing shares with a proof that they lie on polynomials of degree below t, and that numbers are small.

    deal   -> to each member its shares, confidentially; to everyone a commitment to each member's shares, and
              the sums of 80 random selections of the polynomials, each hidden by a polynomial of its own
    check  -> a member compares its own shares with the commitment and with the sums
    settle -> the dealer shows the shares of members that complain, to everyone

The selections follow from the commitments (Fiat and Shamir), so they are fixed after the shares.  Shares of
members whose checks pass, but off a polynomial of degree below t in any number and prime, differ from the
sums of a selection with probability 1/2 at least.  So does the sum of numbers of which one is no difference
of two numbers below the bound: of two selections that differ in it, one sum at most is in it.  Each check
holds in all primes with the same selection, so that a number passes only if it is the same in all of them.
A dealer that tries h hashes succeeds with probability h 2^-80.

A dealer can also show a `QuadraticIdentity` by the values of its polynomial at 1 to 2t - 2, hidden by another
that is 0 at 0.  At least 2t - 1 honest members compare their own values, which determine the polynomial.

A number stated to have b bits, among m, is thereby shown to be below 2^(b + log2 m + 41) in size: `slack`.
All uses of dealt numbers must hold for these sizes.  The sums show nothing else: their masks are 2^40 times
as large, and their polynomials are random.  (After Atapoor, Baghery, Cozzo and Pedersen, "VSS from
Distributed ZK Proofs and Applications", 2023, with sums of selections in place of their proofs.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.crypto.sharing.shamir import evaluate, interpolate, polynomial
from blockful_py.errors import CheaterError
from blockful_py.types import Rng

SELECTIONS = 80
"""Bits of soundness against a dealer that grinds hashes."""

HIDING = 40
"""Bits by which a mask exceeds its number: an observer gains at most 2^-40 for each opened number."""

REPEATED = 3
"""Values of an identity: each false one is 0 with probability 3 / 2^30 at most."""

BLOCK = 1 << 16
"""Numbers of a selection added at once: 2^16 residues of 31 bits stay below 2^53."""


@dataclass(frozen=True)
class Numbers:
    """Numbers dealt together: their shape, and their bits; None for any residues."""

    shape: tuple[int, ...]
    bits: int | None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def sum_bits(self) -> int:
        """Bits of a hidden sum of a selection."""
        return (self.bits or 0) + self.size.bit_length() + HIDING + 1


class QuadraticIdentity(Protocol):
    """A statement on dealt numbers: values of degree 2 in them that are 0."""

    def values(self, field: Residues, numbers: Sequence[Array], rng: Rng) -> Array:
        """REPEATED values (k, REPEATED), with random factors from `rng`, of numbers (k, size) by kind.

        A false statement passes with probability 2^-80 at most, in all of them.
        """


def slack(size: int) -> int:
    """Bits by which a dealt number among so many may exceed those stated."""
    return size.bit_length() + HIDING + 1


@dataclass(frozen=True)
class DealingProof:
    """Messages of a dealer to everyone.

    Attributes:
        commitments: for each member.
        sums: of selections, int64 (kinds, 80, t, k).
        identity: values of its polynomial at 1 to 2t - 2, int64 (2t - 2, k, REPEATED).
    """

    commitments: tuple[bytes, ...]
    sums: Array
    identity: Array


@dataclass(frozen=True)
class DealtShares:
    """Messages of a dealer to one member.

    Attributes:
        numbers: shares by kind, int64 (k, size).
        masks: of the sums of selections, by kind, int64 (k, 80).
        zeros: shares that hide the identity, int64 (k, REPEATED).
        salt: hides the shares in their commitment.
    """

    numbers: tuple[Array, ...]
    masks: tuple[Array, ...]
    zeros: Array
    salt: bytes

    def commitment(self) -> bytes:
        return fingerprint(self.salt, self.zeros, *self.numbers, *self.masks)


@dataclass(frozen=True)
class Dealing:
    """Rules of a dealing: degree t - 1, n members, and the use, which proofs are bound to with the dealer.

    Raises ValueError: the numbers do not fit the field.
    """

    field: Residues
    threshold: int
    size: int
    context: bytes
    kinds: tuple[Numbers, ...]
    identity: QuadraticIdentity | None = None

    def __post_init__(self) -> None:
        most = max((each.sum_bits for each in self.kinds if each.bits is not None), default=0)
        if self.field.modulus >> (most + 1) == 0:
            raise ValueError(f"expected a field above {most + 1} bits: use more primes")

    def deal(
        self, dealer: int, numbers: Sequence[Array], rng: Rng
    ) -> tuple[DealingProof, dict[int, DealtShares]]:
        """Shares by member of residues (k, size) of each kind, and the proof."""
        polynomials = [polynomial(self.field, each, self.threshold - 1, rng) for each in numbers]
        masks = [
            polynomial(self.field, self._mask(each, rng), self.threshold - 1, rng) for each in self.kinds
        ]
        nothing = np.zeros((self.field.count, REPEATED), np.int64)
        zeros = polynomial(self.field, nothing, 2 * self.threshold - 2, rng)
        shares = {
            member: DealtShares(
                tuple(evaluate(self.field, each, member) for each in polynomials),
                tuple(evaluate(self.field, each, member) for each in masks),
                evaluate(self.field, zeros, member),
                rng(32),
            )
            for member in range(1, self.size + 1)
        }
        commitments = tuple(share.commitment() for share in shares.values())
        sums = [
            np.stack(
                [
                    self._sum((dealer, i), commitments, c, m)
                    for c, m in zip(coefficients, hidden, strict=True)
                ],
                1,
            )
            for i, (coefficients, hidden) in enumerate(zip(polynomials, masks, strict=True))
        ]
        shown = [self._value(dealer, commitments, shares[j]) for j in range(1, 2 * self.threshold - 1)]
        return DealingProof(commitments, np.stack(sums), np.stack(shown)), shares

    def checks_out(self, dealer: int, proof: DealingProof, member: int, share: DealtShares) -> bool:
        """Whether the shares of a member are the committed ones, and agree with the sums."""
        if not self.is_formed(share) or share.commitment() != proof.commitments[member - 1]:
            return False
        for i, (numbers, masks) in enumerate(zip(share.numbers, share.masks, strict=True)):
            expected = evaluate(self.field, proof.sums[i].transpose(1, 2, 0), member).T
            if not np.array_equal(self._sum((dealer, i), proof.commitments, numbers, masks), expected):
                return False
        points = dict(enumerate([np.zeros_like(share.zeros), *proof.identity]))
        value = self._value(dealer, proof.commitments, share)
        return np.array_equal(interpolate(self.field, points, member), value)

    def is_bounded(self, proof: DealingProof) -> bool:
        """Whether the proof has its form, and the sums, which are the same for all, are in their bounds."""
        shape = (len(self.kinds), SELECTIONS, self.threshold, self.field.count)
        formed = (
            len(proof.commitments) == self.size
            and all(isinstance(each, bytes) and len(each) == 32 for each in proof.commitments)
            and _are_residues(self.field, proof.sums, shape, axis=-1)
            and _are_residues(
                self.field, proof.identity, (2 * self.threshold - 2, self.field.count, REPEATED), axis=1
            )
        )
        if not formed:
            return False
        for kind, sums in zip(self.kinds, proof.sums, strict=True):
            if kind.bits is not None:
                found = self.field.centred(sums[:, 0].T)
                if any(not 0 <= each < 1 << kind.sum_bits for each in found):
                    return False
        return True

    def is_formed(self, share: DealtShares) -> bool:
        k = self.field.count
        if len(share.numbers) != len(self.kinds) or len(share.masks) != len(self.kinds):
            return False
        if not _are_residues(self.field, share.zeros, (k, REPEATED)):
            return False
        return all(
            _are_residues(self.field, numbers, (k, kind.size))
            and _are_residues(self.field, masks, (k, SELECTIONS))
            for kind, numbers, masks in zip(self.kinds, share.numbers, share.masks, strict=True)
        )

    def complaints(
        self, member: int, proofs: Mapping[int, DealingProof], shares: Mapping[int, DealtShares]
    ) -> tuple[int, ...]:
        """Dealers whose shares to this member are missing or fail the checks.

        Raises CheaterError: proofs fail checks that everyone repeats.
        """
        if wrong := [dealer for dealer, proof in proofs.items() if not self.is_bounded(proof)]:
            raise CheaterError(wrong, "the proof of shares dealt")
        return tuple(
            dealer
            for dealer, proof in proofs.items()
            if dealer not in shares or not self.checks_out(dealer, proof, member, shares[dealer])
        )

    def settle(
        self,
        proofs: Mapping[int, DealingProof],
        complaints: Mapping[int, Sequence[int]],
        answers: Mapping[int, Mapping[int, DealtShares]],
    ) -> None:
        """Checks the shares that dealers showed to everyone, by dealer and accuser.

        Raises CheaterError: dealers whose answers are missing or wrong, or whom t members accuse.
        """
        wrong = set()
        for dealer, proof in proofs.items():
            accusers = [member for member, accused in complaints.items() if dealer in accused]
            shown = answers.get(dealer, {})
            if len(accusers) >= self.threshold or any(
                member not in shown or not self.checks_out(dealer, proof, member, shown[member])
                for member in accusers
            ):
                wrong.add(dealer)
        if wrong:
            raise CheaterError(sorted(wrong), "the shares dealt")

    def _value(self, dealer: int, commitments: Sequence[bytes], share: DealtShares) -> Array:
        """The identity's values of a member's shares, hidden, int64 (k, REPEATED)."""
        if self.identity is None:
            return share.zeros
        rng = SeededRng(self._seed((dealer, len(self.kinds)), commitments))
        return self.field.reduced(self.identity.values(self.field, share.numbers, rng) + share.zeros)

    def _seed(self, which: tuple[int, int], commitments: Sequence[bytes]) -> bytes:
        """The challenge: a digest of everything that the dealer has fixed."""
        kinds = repr([(each.shape, each.bits) for each in self.kinds]).encode()
        rules = repr((self.field.count, self.threshold, self.size, self.identity, which)).encode()
        return fingerprint(self.context, kinds, rules, *commitments)

    def _mask(self, kind: Numbers, rng: Rng) -> Array:
        if kind.bits is None:
            return self.field.random((SELECTIONS,), rng)
        primes, bits = divmod(kind.sum_bits - 1, 31)
        return self.field.random_below((SELECTIONS,), primes, bits, rng)

    def _sum(
        self, which: tuple[int, int], commitments: Sequence[bytes], numbers: Array, masks: Array
    ) -> Array:
        """Sums of the selections of (k, size) and the masks (k, 80), int64 (80, k)."""
        return selection_sums(self.field, self._seed(which, commitments), numbers, masks)


def selection_sums(field: Residues, seed: bytes, numbers: Array, masks: Array) -> Array:
    """Sums (80, k) of the selections that a seed gives, of (k, size), each with its mask (k, 80)."""
    size = numbers.shape[1]
    bits = np.frombuffer(hashlib.shake_256(seed).digest(SELECTIONS * (-(-size // 8))), np.uint8)
    selections = np.unpackbits(bits.reshape(SELECTIONS, -1), axis=1)[:, :size]
    total = masks.T.astype(np.int64)
    for start in range(0, size, BLOCK):
        chosen = selections[:, start : start + BLOCK].astype(np.float64)
        part = chosen @ numbers[:, start : start + BLOCK].T.astype(np.float64)
        total = total + part.astype(np.int64) % field.primes(2).T
    return total % field.primes(2).T


def _are_residues(field: Residues, numbers: Array, shape: tuple[int, ...], axis: int = 0) -> bool:
    if not isinstance(numbers, np.ndarray) or numbers.shape != shape or numbers.dtype != np.int64:
        return False
    moved = np.moveaxis(numbers, axis, 0)
    return bool(((moved >= 0) & (moved < field.primes(moved.ndim))).all())
