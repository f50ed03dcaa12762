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

A number stated to have b bits, among m, is thereby shown to be below 2^(b + log2 m + 41) in size: `slack`.
All uses of dealt numbers must hold for these sizes.  The sums show nothing else: their masks are 2^40 times
as large, and their polynomials are random.  (After Atapoor, Baghery, Cozzo and Pedersen, "VSS from
Distributed ZK Proofs and Applications", 2023, with sums of selections in place of their proofs.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.crypto.sharing.shamir import evaluate, polynomial
from blockful_py.errors import CheaterError
from blockful_py.types import Rng

SELECTIONS = 80
"""Bits of soundness against a dealer that grinds hashes."""

HIDING = 40
"""Bits by which a mask exceeds its number: an observer gains at most 2^-40 for each opened number."""

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


def slack(size: int) -> int:
    """Bits by which a dealt number among so many may exceed those stated."""
    return size.bit_length() + HIDING + 1


@dataclass(frozen=True)
class DealingProof:
    """To everyone: a commitment for each member, and sums of selections, int64 (kinds, 80, t, k)."""

    commitments: tuple[bytes, ...]
    sums: Array


@dataclass(frozen=True)
class DealtShares:
    """To one member: shares of numbers and of masks, by kind, int64 (k, size) and (k, 80)."""

    numbers: tuple[Array, ...]
    masks: tuple[Array, ...]
    salt: bytes

    def commitment(self) -> bytes:
        return fingerprint(self.salt, *self.numbers, *self.masks)


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
        shares = {
            member: DealtShares(
                tuple(evaluate(self.field, each, member) for each in polynomials),
                tuple(evaluate(self.field, each, member) for each in masks),
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
        return DealingProof(commitments, np.stack(sums)), shares

    def checks_out(self, dealer: int, proof: DealingProof, member: int, share: DealtShares) -> bool:
        """Whether the shares of a member are the committed ones, and agree with the sums."""
        if not self.is_formed(share) or share.commitment() != proof.commitments[member - 1]:
            return False
        for i, (numbers, masks) in enumerate(zip(share.numbers, share.masks, strict=True)):
            expected = evaluate(self.field, proof.sums[i].transpose(1, 2, 0), member).T
            if not np.array_equal(self._sum((dealer, i), proof.commitments, numbers, masks), expected):
                return False
        return True

    def is_bounded(self, proof: DealingProof) -> bool:
        """Whether the proof has its form, and the sums, which are the same for all, are in their bounds."""
        shape = (len(self.kinds), SELECTIONS, self.threshold, self.field.count)
        formed = (
            len(proof.commitments) == self.size
            and all(isinstance(each, bytes) and len(each) == 32 for each in proof.commitments)
            and _are_residues(self.field, proof.sums, shape, axis=-1)
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

    def _mask(self, kind: Numbers, rng: Rng) -> Array:
        if kind.bits is None:
            return self.field.random((SELECTIONS,), rng)
        primes, bits = divmod(kind.sum_bits - 1, 31)
        return self.field.random_below((SELECTIONS,), primes, bits, rng)

    def _sum(
        self, which: tuple[int, int], commitments: Sequence[bytes], numbers: Array, masks: Array
    ) -> Array:
        """Sums of the selections of (k, size) and the masks (k, 80), int64 (80, k)."""
        kinds = repr([(each.shape, each.bits) for each in self.kinds]).encode()
        rules = repr((self.field.count, self.threshold, self.size, which)).encode()
        seed = fingerprint(self.context, kinds, rules, *commitments)
        size = numbers.shape[1]
        bits = np.frombuffer(hashlib.shake_256(seed).digest(SELECTIONS * (-(-size // 8))), np.uint8)
        selections = np.unpackbits(bits.reshape(SELECTIONS, -1), axis=1)[:, :size]
        total = masks.T.astype(np.int64)
        for start in range(0, size, BLOCK):
            chosen = selections[:, start : start + BLOCK].astype(np.float64)
            part = chosen @ numbers[:, start : start + BLOCK].T.astype(np.float64)
            total = total + part.astype(np.int64) % self.field.primes(2).T
        return total % self.field.primes(2).T


def _are_residues(field: Residues, numbers: Array, shape: tuple[int, ...], axis: int = 0) -> bool:
    if not isinstance(numbers, np.ndarray) or numbers.shape != shape or numbers.dtype != np.int64:
        return False
    moved = np.moveaxis(numbers, axis, 0)
    return bool(((moved >= 0) & (moved < field.primes(moved.ndim))).all())
