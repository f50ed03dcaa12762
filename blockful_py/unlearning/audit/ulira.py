# SPDX-License-Identifier: Apache-2.0
"""U-LiRA: did a model unlearn an example, or never know it? (Hayes et al. 2024, arXiv 2403.01218)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blockful_py.unlearning.audit.epsilon import EpsilonBound, epsilon_bound, rate_interval
from blockful_py.unlearning.audit.margins import require_shadows
from blockful_py.unlearning.audit.network import Floats
from blockful_py.verdicts.statistics import LEVEL, Counts, Estimate, estimate, mean, resample

FALSE_POSITIVES = 0.01
LEAST_SPREAD = 1e-3
"""Minimum standard deviation of a fit; margins of float32 networks are no finer."""


@dataclass(frozen=True, slots=True)
class ULira:
    """Result of the attack on n examples, with S models of each kind.

    Attributes:
        auc: probability that an (unlearned model, example) pair scores above a (never-knew model, example)
            pair; 0.5 for guesses.
        tpr: true positive rate at 1 % false positives, over all pairs of model and example.
        accuracy: mean over examples of the share of right decisions; 0.5 for guesses.
        worst: share of right decisions on the example with the most of them, with its exact interval for the
            worst of n (Bonferroni).  Guesses have a worst example too: compare with gold's.
        worst_example: position of that example.
        epsilon: largest of the bounds from each example and from all examples together (Bonferroni).
    """

    auc: Estimate
    tpr: Estimate
    accuracy: Estimate
    worst: Estimate
    worst_example: int
    epsilon: EpsilonBound


def u_lira(unlearned: ArrayLike, never_knew: ArrayLike) -> ULira:
    """Attacks S unlearned and S never-knew models.

    Rates come from `leave_pair_out`.  Epsilon comes from fits to half of the models and decisions on the
    other half; these decisions are independent, as `epsilon_bound` requires.

    Args:
        unlearned, never_knew: margins, (S, n), S at least 4; models are independent of each other.

    Raises UnlearningError as `require_shadows`.
    """
    known, strange = require_shadows(unlearned, never_knew)
    of_unlearned, of_strangers = leave_pair_out(known, strange)
    counts = resample(range(len(known)))
    right = ((of_unlearned > 0) + 0.0 + (of_strangers <= 0)) / 2  # (S, n)
    by_example = right.mean(0)
    worst = int(by_example.argmax())
    decisions = 2 * len(known)
    low, high = rate_interval(
        round(by_example[worst] * decisions), decisions, 1 - (1 - LEVEL) / known.shape[1]
    )
    rates = _Rates(of_unlearned, of_strangers)
    once = np.ones((1, len(known)), dtype=np.int64)
    return ULira(
        auc=estimate(float(rates.aucs(once)[0]), rates.aucs(counts)),
        tpr=estimate(float(rates.true_positives(once)[0]), rates.true_positives(counts)),
        accuracy=mean(right.mean(1).tolist(), counts),
        worst=Estimate(float(by_example[worst]), low, high),
        worst_example=worst,
        epsilon=_epsilon(known, strange),
    )


def likelihood_ratios(unlearned: ArrayLike, never_knew: ArrayLike, targets: ArrayLike) -> Floats:
    """Log-likelihood ratio of each target model and example; above 0 means "unlearned".

    `ln N(m; unlearned) - ln N(m; never knew)`

    Args:
        unlearned, never_knew: margins of shadow models, (S, n); a Gaussian is fitted per example.
        targets: margins of T models outside the shadow models, (T, n).

    Returns float64 (T, n).

    Raises UnlearningError as `require_shadows`.
    """
    return _ratios(*require_shadows(unlearned, never_knew), np.asarray(targets, dtype=np.float64))


def leave_pair_out(known: Floats, strange: Floats) -> tuple[Floats, Floats]:
    """Likelihood ratios of all shadow models, (S, n) each: pair i is scored by fits to the other S - 1 pairs.

    A pair has one model of each kind.  Both meet the same fits, so if the kinds do not differ, their ratios
    do not differ either.
    """
    fits = _fit_without_each(known), _fit_without_each(strange)
    scored = [_log_density(each, *fits[0]) - _log_density(each, *fits[1]) for each in (known, strange)]
    return scored[0], scored[1]


def _ratios(known: Floats, strange: Floats, asked: Floats) -> Floats:
    return _log_density(asked, *_fit(known)) - _log_density(asked, *_fit(strange))


def _fit(values: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation by example, (n,) each."""
    return values.mean(0), np.maximum(values.std(0, ddof=1), LEAST_SPREAD)


def _fit_without_each(values: Floats) -> tuple[Floats, Floats]:
    """Leave-one-out fits: `_fit` without row i, for each i, (S, n) each."""
    count = len(values)
    centred = values - values.mean(0)
    without = -centred / (count - 1)  # mean of the others minus the mean of all
    squares = np.square(centred).sum(0) - np.square(centred) - (count - 1) * np.square(without)
    spread = np.sqrt(np.maximum(squares, 0) / (count - 2))
    return values.mean(0) + without, np.maximum(spread, LEAST_SPREAD)


def _log_density(values: Floats, centre: Floats, spread: Floats) -> Floats:
    """Log-density of a Gaussian plus `ln sqrt(2 pi)`."""
    found: Floats = -np.square((values - centre) / spread) / 2 - np.log(spread)
    return found


class _Rates:
    """Rates of likelihood ratios, (S, n) of either kind, with model i counted `times[i]` times."""

    def __init__(self, above: Floats, below: Floats) -> None:
        self._above, self._below = above, below
        self._examples = above.shape[1]
        ranks = np.unique(np.concatenate([above, below]), return_inverse=True)[1].reshape(-1)
        self._rank_above, self._rank_below = np.split(ranks, 2)
        self._distinct = int(ranks.max()) + 1
        self._order = np.argsort(below, axis=None)

    def aucs(self, counts: Counts) -> Floats:
        """AUC by draw, (draws,): `P(above > below) + P(above = below) / 2`."""
        return np.array([self._auc(times) for times in counts])

    def true_positives(self, counts: Counts) -> Floats:
        """True positive rate by draw, (draws,), at the lowest threshold that 1 % of `below` exceed."""
        return np.array([self._true_positives(times) for times in counts])

    def _auc(self, times: Counts) -> float:
        weights = np.repeat(times, self._examples)
        above, below = (
            np.bincount(ranks, weights, self._distinct) for ranks in (self._rank_above, self._rank_below)
        )
        return float(above @ (np.cumsum(below) - below / 2) / weights.sum() ** 2)

    def _true_positives(self, times: Counts) -> float:
        weights = np.repeat(times, self._examples)[self._order]
        kept = np.cumsum(weights) >= (1 - FALSE_POSITIVES) * weights.sum()
        threshold = self._below.flat[self._order[kept.argmax()]]
        return float(((self._above > threshold).mean(1) * times).sum() / times.sum())


def _epsilon(known: Floats, strange: Floats) -> EpsilonBound:
    """Epsilon from fits to every second pair and decisions on the others."""
    fitted, left = [(known[part::2], strange[part::2]) for part in (0, 1)]
    ratios = [_ratios(*fitted, margins) for margins in left]
    called = [np.column_stack([ratio, ratio.sum(1)]) > 0 for ratio in ratios]  # (S/2, n + 1)
    count, tests = called[0].shape
    bounds = [
        epsilon_bound(int(true), count, int(false), count, tests)
        for true, false in zip(called[0].sum(0), called[1].sum(0), strict=True)
    ]
    return max(bounds, key=lambda bound: (bound.low, bound.high))
