# SPDX-License-Identifier: Apache-2.0
"""The public part and the members' shares of a group key, and the arithmetic of shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from blockful_py.crypto import curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.workspace import Workspace
from blockful_py.types import Bytes32, Point


@dataclass(frozen=True)
class CommitteeKey:
    """The public half of a group key.

    Attributes:
        threshold: shares needed for a collision (t).
        size: members (n), with indices 1 to n.
        group_key: Y = xG.
        verification_shares: Y_i = x_i G of member i at index i - 1.
    """

    threshold: int
    size: int
    group_key: Point
    verification_shares: tuple[Point, ...]

    @cached_property
    def key_id(self) -> Bytes32:
        """Identifier of the group key, H(Y.x || Y.y)."""
        return curve.key_id(self.group_key)


@dataclass(frozen=True, slots=True)
class KeyShare:
    """One member's share after key generation; `secret` is x_i, `index` counts from 1."""

    index: int
    threshold: int
    size: int
    secret: int = field(repr=False)
    group_key: Point
    verification_shares: tuple[Point, ...]

    @property
    def public(self) -> CommitteeKey:
        """The public half of the group key."""
        return CommitteeKey(self.threshold, self.size, self.group_key, self.verification_shares)


def lagrange(signers: Sequence[int], index: int) -> int:
    """Lagrange coefficient lambda_i = product over j != i of j / (j - i) mod n: the weight of f(i) in f(0).

    `index` is one of the signers.  Raises ValueError for an index that is not positive or listed twice.
    """
    if any(signer < 1 for signer in signers) or len(set(signers)) != len(signers):
        raise ValueError(f"signers are distinct indices from 1, not {list(signers)}")
    others = [signer for signer in signers if signer != index]
    return prod(others) * pow(prod(j - index for j in others), -1, N) % N


def evaluate_secret(coefficients: Sequence[int], index: int) -> int:
    """Evaluates f(index) = sum of a_k index^k mod n, by Horner's rule in constant time."""
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = curve.multiply_add(value, index, coefficient)
    return value


def evaluate_public(commitments: Sequence[Point], index: int) -> Point:
    """Evaluates f(index) G = sum of index^k A_k.  Raises InvalidKeyError at infinity, also on the way."""
    return Workspace(2).evaluate(commitments, index)
