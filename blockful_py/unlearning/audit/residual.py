# SPDX-License-Identifier: Apache-2.0
"""Residual knowledge: recognition of forgotten samples under small perturbations (Hsu et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike

from blockful_py.learning.data import Samples
from blockful_py.unlearning.audit.margins import require_shadows
from blockful_py.verdicts.statistics import Estimate, mean, ratio, resample

DRAWS = 8
"""Perturbations per sample."""

RADIUS = 0.1
"""Root mean square of a perturbation's values; inputs span about 1."""


@dataclass(frozen=True, slots=True)
class ResidualKnowledge:
    """Recognition rates of perturbed forgotten samples, compared between the two kinds of models.

    Attributes:
        ratio: rate of unlearned models divided by the rate of never-knew models (arXiv 2601.22359); 1 means
            no residual knowledge, infinity that only unlearned models recognise any.
        excess: difference of the two rates.
    """

    ratio: Estimate
    excess: Estimate


def residual_knowledge(unlearned: ArrayLike, never_knew: ArrayLike) -> ResidualKnowledge:
    """Compares recognition rates; intervals are bootstrapped over pairs of models.

    Args:
        unlearned, never_knew: margins on perturbed forgotten samples, (S, n), S at least 4; a sample is
            recognised if its margin is above 0.

    Raises UnlearningError as `require_shadows`.
    """
    known, strange = ((each > 0).mean(1) for each in require_shadows(unlearned, never_knew))
    counts = resample(range(len(known)))
    return ResidualKnowledge(
        ratio(known.tolist(), strange.tolist(), counts), mean((known - strange).tolist(), counts)
    )


def perturbed(samples: Samples, stream: torch.Generator) -> Samples:
    """Draws 8 neighbours of each sample, (8 n, ...), at RMS distance 0.1 in random directions."""
    x = samples.x.repeat(DRAWS, *[1] * (samples.x.dim() - 1))
    noise = torch.randn(x.shape, generator=stream)
    size = noise.flatten(1).square().mean(1).sqrt().view(-1, *[1] * (x.dim() - 1))
    return Samples(x + (RADIUS * noise / size).to(x.device), samples.y.repeat(DRAWS))
