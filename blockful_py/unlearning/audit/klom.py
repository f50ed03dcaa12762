# SPDX-License-Identifier: Apache-2.0
"""KLoM: divergence of margins between unlearned and never-knew models, by example (Georgiev et al. 2024).

As the code of the data-unlearning benchmark computes it (arXiv 2602.16400); the differences that remain are
in docs/explanation/attacks.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from blockful_py.unlearning.audit.margins import require_shadows
from blockful_py.unlearning.audit.network import Floats
from blockful_py.verdicts.statistics import LEVEL, Counts, Estimate

BINS = 20
CLIP = 100.0
LEAST_SHARE = 1e-5
"""Share of models assumed in bins that never-knew models leave empty."""
DIRECTION = "KL(unlearned || never knew)"

NORMAL = float(ndtri((1 + LEVEL) / 2))
"""Half the width of a 95 % interval, in standard errors."""


@dataclass(frozen=True, slots=True)
class Klom:
    """Summary of divergences over n examples, in nats; `p95` interpolates between examples."""

    mean: float
    p95: float
    worst: float
    worst_example: int


def klom(unlearned: ArrayLike, never_knew: ArrayLike) -> Klom:
    """Summary of `divergences`.  Raises as `divergences`."""
    found = divergences(unlearned, never_knew)
    worst = int(found.argmax())
    p95 = float(np.quantile(found, 0.95))
    return Klom(float(found.mean()), p95, float(found[worst]), worst)


def above_floor(unlearned: ArrayLike, floor: ArrayLike, never_knew: ArrayLike) -> Estimate:
    """Mean KLoM of unlearned models minus the mean KLoM of `floor`, in nats.

    `floor` holds models retrained from other seeds.  With few models KLoM is far above 0 even for equal
    distributions; the difference is not.  The interval is the jackknife's, which leaves out position i of all
    three at once.  A bootstrap would draw models twice, which raises only equal distributions' KLoM.

    Args:
        unlearned, floor, never_knew: margins, (S, n), S at least 4.

    Raises UnlearningError as `require_shadows`.
    """
    models = len(require_shadows(unlearned, never_knew)[0])
    counts = np.vstack([np.ones(models, dtype=np.int64), 1 - np.eye(models, dtype=np.int64)])
    of_unlearned, of_floor = (_by_draw(each, never_knew, counts).mean(1) for each in (unlearned, floor))
    above = of_unlearned - of_floor
    error = NORMAL * float(np.sqrt((models - 1) * above[1:].var()))
    return Estimate(float(above[0]), float(above[0]) - error, float(above[0]) + error)


def divergences(unlearned: ArrayLike, never_knew: ArrayLike) -> Floats:
    """KLoM of each example, `KL(unlearned || never knew)` of histograms of margins: nats, float64 (n,).

    20 equal bins over the range of both, margins clipped to +-100, bins that never-knew models leave empty
    set to 1e-5.  With few models the result is far above 0 even for equal distributions: compare it with
    models retrained from other seeds (`above_floor`).

    Args:
        unlearned, never_knew: margins, (S, n), S at least 4.

    Raises UnlearningError as `require_shadows`.
    """
    once = np.ones((1, len(np.asarray(unlearned))), dtype=np.int64)
    found: Floats = _by_draw(unlearned, never_knew, once)[0]
    return found


def _by_draw(unlearned: ArrayLike, never_knew: ArrayLike, counts: Counts) -> Floats:
    """Divergences by draw and example, (draws, n).

    Model i of either kind counts `counts[draw, i]` times; the bins are computed from all models.
    """
    known, strange = (np.clip(each, -CLIP, CLIP) for each in require_shadows(unlearned, never_knew))
    pairs = zip(known.T, strange.T, strict=True)
    return np.column_stack([_divergences(knowers, strangers, counts) for knowers, strangers in pairs])


def _divergences(p: Floats, q: Floats, counts: Counts) -> Floats:
    """Divergence of two samples, `KL(p || q)`, by draw: (draws,)."""
    edges = np.histogram_bin_edges(np.concatenate([p, q]), BINS)
    of_p, of_q = (counts @ _members(each, edges) / counts.sum(1, keepdims=True) for each in (p, q))
    ratios = np.log(np.maximum(of_p, LEAST_SHARE) / np.maximum(of_q, LEAST_SHARE))
    found: Floats = (of_p * ratios).sum(1)
    return found


def _members(values: Floats, edges: Floats) -> Floats:
    """One-hot bin of each value: (S, bins)."""
    places = np.clip(np.searchsorted(edges, values, "right") - 1, 0, BINS - 1)
    return np.eye(BINS)[places]
