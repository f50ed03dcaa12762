# SPDX-License-Identifier: Apache-2.0
"""Bounds on epsilon proved by an attack's decisions.

Models A and B are epsilon-indistinguishable if `P(A in T) <= e^epsilon P(B in T)` for every set T, and vice
versa. An attack with true positive rate p and false positive rate q therefore proves
`epsilon >= max(ln(p / q), ln((1 - q) / (1 - p)))`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv

from blockful_py.errors import UnlearningError

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class EpsilonBound:
    """Bounds on epsilon proved by one attack, at its confidence.

    Attributes:
        low: lower bound on epsilon.
        high: upper bound on the proof by a better count of the same attack; infinite if zero false positives,
            or zero false negatives, would be no surprise.  A better attack may prove more.
        limit: the largest `low` possible with this number of decisions.
    """

    low: float
    high: float
    limit: float


def rate_interval(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact two-sided interval of a rate (Clopper and Pearson 1934).

    Raises UnlearningError: no trial, or more hits than trials.
    """
    if not 0 <= hits <= trials or trials < 1:
        raise UnlearningError(
            f"a rate needs at least one trial and at most as many hits: {hits} of {trials}."
        )
    rest = (1 - confidence) / 2
    low = float(betaincinv(hits, trials - hits + 1, rest)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - rest)) if hits < trials else 1.0
    return low, high


def epsilon_bound(
    true_positives: int,
    unlearned: int,
    false_positives: int,
    never_knew: int,
    tests: int = 1,
    confidence: float = CONFIDENCE,
) -> EpsilonBound:
    """Bounds from one attack among `tests` attacks, any of which may be reported (Bonferroni).

    The decisions must be independent: one per model, by a rule fitted without these models.

    Args:
        true_positives: models of `unlearned` that the attack calls unlearned.
        false_positives: models of `never_knew` that it calls unlearned.

    Raises UnlearningError as `rate_interval`.
    """
    each = 1 - (1 - confidence) / (2 * tests)  # two rates in each of the tests
    p_low, p_high = rate_interval(true_positives, unlearned, each)
    q_low, q_high = rate_interval(false_positives, never_knew, each)
    perfect_p, perfect_q = rate_interval(unlearned, unlearned, each)[0], rate_interval(0, never_knew, each)[1]
    return EpsilonBound(
        low=max(0.0, _proved(p_low, q_high)),
        high=max(0.0, _proved(p_high, q_low)),
        limit=max(0.0, _proved(perfect_p, perfect_q)),
    )


def _proved(p: float, q: float) -> float:
    """Lower bound on epsilon, `max(ln(p / q), ln((1 - q) / (1 - p)))`."""
    return max(_log_ratio(p, q), _log_ratio(1 - q, 1 - p))


def _log_ratio(above: float, below: float) -> float:
    if above <= 0:
        return -math.inf
    return math.inf if below <= 0 else math.log(above / below)
