# SPDX-License-Identifier: Apache-2.0
"""The paper's attack probability (section "Quantitative security analysis"), exactly.

A committee of n members is drawn from a pool of P candidates, M of them malicious; each malicious member
attacks independently with probability rho.  A committee tolerates f = floor((n - 1) / 3) attackers:

    A = sum over k of  C(M, k) C(P - M, n - k) / C(P, n)  *  Pr[Bin(k, rho) > f]

Meaning and limits of the number: docs/explanation/committee-risk.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, isclose
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv, gammaln

from blockful_py.errors import SettingsError

CONFIDENCE = 0.95
MAX_POOL = 2_000
"""Maximum number of candidates; exact results for larger pools have too many digits to be useful."""
_CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of a committee; each malicious one attacks with probability `rho` when it is a member.

    Raises SettingsError for numbers out of range.
    """

    candidates: int
    malicious: int
    rho: Fraction

    def __post_init__(self) -> None:
        if not 1 <= self.candidates <= MAX_POOL:
            raise SettingsError(f"a pool has 1 to {MAX_POOL} candidates, not {self.candidates}.")
        if not 0 <= self.malicious <= self.candidates:
            raise SettingsError(
                f"of {self.candidates} candidates 0 to {self.candidates} are malicious, not {self.malicious}."
            )
        if not 0 <= self.rho <= 1:
            raise SettingsError(f"rho is a probability from 0 to 1, not {float(self.rho):g}.")

    def check_size(self, size: int) -> None:
        """Checks that a committee of this size can be drawn.  Raises SettingsError."""
        if not 1 <= size <= self.candidates:
            raise SettingsError(f"a committee has 1 to {self.candidates} of the candidates, not {size}.")


@dataclass(frozen=True, slots=True)
class RiskEstimate:
    """The frequency in independent trials, with its Clopper-Pearson interval at confidence CONFIDENCE."""

    trials: int
    hits: int
    low: float
    high: float

    @property
    def frequency(self) -> float:
        return self.hits / self.trials


@dataclass(frozen=True, slots=True)
class Sizes:
    """Committee sizes whose risk is at most a target; None if no size suffices.

    The risk falls where f grows and rises in between.  `smallest` is the first sufficient size; from
    `lasting` on, all sizes suffice.
    """

    smallest: int | None
    lasting: int | None


def tolerated(size: int) -> int:
    """f = floor((n - 1) / 3)."""
    return (size - 1) // 3


def attack_probability(pool: Pool, size: int) -> Fraction:
    """The attack probability A, exactly.  Raises SettingsError."""
    pool.check_size(size)
    honest, most = pool.candidates - pool.malicious, min(pool.malicious, size)
    denominator = pool.rho.denominator
    total = 0
    for k, tail in _tails(pool.rho, tolerated(size), most):
        if size - k <= honest:
            total += comb(pool.malicious, k) * comb(honest, size - k) * tail * denominator ** (most - k)
    return Fraction(total, comb(pool.candidates, size) * denominator**most)


def attack_probabilities(pool: Pool) -> tuple[float, ...]:
    """A for the sizes 1 to P, by log-gamma and the incomplete beta function, to 9 digits."""
    return tuple(_approximate(pool, size) for size in range(1, pool.candidates + 1))


def sizes_within(pool: Pool, target: Fraction) -> Sizes:
    """Sizes with A <= target.  Raises SettingsError unless 0 < target < 1."""
    if not 0 < target < 1:
        raise SettingsError(f"a wanted risk is between 0 and 1, not {float(target):g}.")
    wanted = float(target)
    enough = [
        attack_probability(pool, size) <= target if isclose(risk, wanted, rel_tol=1e-6) else risk < wanted
        for size, risk in enumerate(attack_probabilities(pool), 1)
    ]
    if True not in enough:
        return Sizes(None, None)
    last_failure = max((size for size, good in enumerate(enough, 1) if not good), default=0)
    lasting = last_failure + 1 if last_failure < pool.candidates else None
    return Sizes(enough.index(True) + 1, lasting)


def simulate(pool: Pool, size: int, trials: int, seed: int) -> RiskEstimate:
    """The frequency of more than f attackers in `trials` draws of a committee.

    The same seed gives the same estimate.  Raises SettingsError.
    """
    pool.check_size(size)
    if trials < 1 or seed < 0:
        raise SettingsError(f"a simulation has 1 trial or more and a seed from 0, not {trials} and {seed}.")
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, trials, _CHUNK):
        count = min(_CHUNK, trials - start)
        members = rng.hypergeometric(pool.malicious, pool.candidates - pool.malicious, size, count)
        attackers = rng.binomial(members, float(pool.rho))
        hits += int(np.count_nonzero(attackers > tolerated(size)))
    return _interval(hits, trials)


def _tails(rho: Fraction, limit: int, most: int) -> Iterator[tuple[int, int]]:
    """(k, b^k Pr[Bin(k, a/b) > limit]) for k = limit + 1 to most, with rho = a/b.

    Pr[Bin(k + 1) > limit] = Pr[Bin(k) > limit] + rho Pr[Bin(k) = limit]
    """
    a, b = rho.numerator, rho.denominator
    tail = 0
    for k in range(limit, most):
        tail = b * tail + a * comb(k, limit) * a**limit * (b - a) ** (k - limit)
        yield k + 1, tail


def _approximate(pool: Pool, size: int) -> float:
    limit, honest = tolerated(size), pool.candidates - pool.malicious
    k = np.arange(max(limit + 1, size - honest), min(pool.malicious, size) + 1)
    logs = _log_comb(pool.malicious, k) + _log_comb(honest, size - k) - _log_comb(pool.candidates, size)
    # Pr[Bin(k, rho) > f] = I_rho(f + 1, k - f)
    return float(np.sum(np.exp(logs) * betainc(limit + 1, k - limit, float(pool.rho))))


def _log_comb(n: int, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _interval(hits: int, trials: int) -> RiskEstimate:
    half = (1 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, half))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - half))
    return RiskEstimate(trials, hits, low, high)
