# SPDX-License-Identifier: Apache-2.0
"""KLoM: divergence of margins, unlearned against never-knew, by example (Georgiev et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blockful_py.unlearning.audit.margins import require_shadows
from blockful_py.unlearning.audit.network import Floats

BINS = 20
CLIP = 100.0
LEAST_SHARE = 1e-5
"""Of models in a bin; a bin that models that unlearned leave empty counts as this."""


@dataclass(frozen=True, slots=True)
class Klom:
    """Nats over n examples."""

    mean: float
    p95: float
    worst: float
    worst_example: int


def klom(unlearned: ArrayLike, never_knew: ArrayLike) -> Klom:
    """Summary of `divergences`.  Raises as these."""
    found = divergences(unlearned, never_knew)
    worst = int(found.argmax())
    p95 = float(np.quantile(found, 0.95, method="inverted_cdf"))
    return Klom(float(found.mean()), p95, float(found[worst]), worst)


def divergences(unlearned: ArrayLike, never_knew: ArrayLike) -> Floats:
    """`KL(never knew || unlearned)` of histograms of margins, by example: nats, float64 (n,).

    As arXiv 2410.23232, appendix E.1: 20 equal bins over the range of both, margins clipped to +-100, empty
    bins of the unlearned ones taken as 1e-5.  With few models it is far above 0 even for equal
    distributions: compare with models retrained from other seeds.

    Args:
        unlearned, never_knew: margins, (S, n), S at least 4.

    Raises:
        UnlearningError: as `require_shadows`.
    """
    known, strange = (np.clip(each, -CLIP, CLIP) for each in require_shadows(unlearned, never_knew))
    pairs = zip(known.T, strange.T, strict=True)
    return np.array([_divergence(of_strangers, of_unlearned) for of_unlearned, of_strangers in pairs])


def _divergence(p: Floats, q: Floats) -> float:
    """`KL(p || q)` of two samples."""
    edges = np.histogram_bin_edges(np.concatenate([p, q]), BINS)
    of_p, of_q = (np.histogram(each, edges)[0] / len(each) for each in (p, q))
    there = of_p > 0
    return float((of_p[there] * np.log(of_p[there] / np.maximum(of_q[there], LEAST_SHARE))).sum())
