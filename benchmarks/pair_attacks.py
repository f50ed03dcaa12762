# SPDX-License-Identifier: Apache-2.0
"""Attacks on a pair: a replaced version of a model and its new version, both known to the attacker.

Membership finds the forgotten samples.  Reconstruction recovers their looks (FUIA, arXiv 2502.14558; DRAUN,
arXiv 2507.09602), by matching gradients as in arXiv 2003.14053.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.margins import margins

Floats = NDArray[np.float64]
CPU = torch.device("cpu")

STEPS, RATE, SMOOTH = 100, 0.1, 0.01
"""Of the reconstruction: steps of Adam (written out, as torch.optim takes seconds to import), their size, and
the weight of the total variation.
"""

RIDGE = 1e-3
"""Added to the variances of a fit."""


def margins_of(architecture: Architecture, weights: Weights, samples: Samples) -> Floats:
    """Margins `ln p / (1 - p)` of the true labels, float64 (n,)."""
    module = architecture.module(weights, CPU).eval()
    with torch.inference_mode():
        return margins(outputs(module, samples.x).double().numpy(), samples.y.numpy())


def alignment(architecture: Architecture, old: Weights, new: Weights, samples: Samples) -> Floats:
    """Alignment `cos(grad L(x; w_new), w_new - w_old)` by sample, float64 (n,).

    It is 1 if the old version is the new one after one step of descent on x.
    """
    module = architecture.module(new, CPU).eval()
    change = change_of(module, old, new)
    alone = zip(samples.x[:, None], samples.y[:, None], strict=True)
    return np.array([float(_cosine(_gradient(module, x, y), change)) for x, y in alone])


def change_of(module: nn.Module, old: Weights, new: Weights) -> Tensor:
    """Change `w_new - w_old` of all parameters, flat."""
    return torch.cat([(new[name] - old[name]).flatten() for name, _ in module.named_parameters()])


def likelihood_ratio(members: Floats, others: Floats, asked: Floats) -> Floats:
    """Likelihood ratio `ln N(m; forgotten) - ln N(m; others)`; m = (old margin, new margin).

    Args:
        members, others: (n, 2) each, of federations that are not attacked.
        asked: (m, 2).
    """
    return _log_density(asked, members) - _log_density(asked, others)


def _log_density(values: Floats, fitted: Floats) -> Floats:
    covariance = np.cov(fitted.T) + RIDGE * np.eye(fitted.shape[1])
    off = values - fitted.mean(0)
    found: Floats = -(off * np.linalg.solve(covariance, off.T).T).sum(1) / 2
    return found - float(np.linalg.slogdet(covariance)[1]) / 2


def true_positives(above: Floats, below: Floats, rate: float = 0.01) -> float:
    """Share of `above` beyond the lowest threshold that at most `rate` of `below` exceed."""
    threshold = np.sort(below)[len(below) - 1 - int(rate * len(below))]
    return float((above > threshold).mean())


def reconstruct(
    architecture: Architecture,
    pairs: Sequence[tuple[Weights, Weights]],
    labels: Tensor,
    span: tuple[float, float],
    stream: torch.Generator,
    steps: int = STEPS,
) -> Tensor:
    """Images x that minimise `1 - cos(grad L(x, y; w_new), w_new - w_old) + SMOOTH TV(x)`, a set for each
    pair.

    Args:
        pairs: B times old and new weights.
        labels: of the forgotten samples, which the attacker is given, (B, k).
        span: least and largest pixel.

    Returns float32 (B, k, channels, height, width).
    """
    low, high = span

    def drawn(pair: tuple[Weights, Weights], y: Tensor) -> Tensor:
        module = architecture.module(pair[1], CPU).eval()
        change = change_of(module, *pair)
        hidden = 0.1 * torch.randn((len(y), *architecture.input_shape), generator=stream)
        hidden.requires_grad_()
        first, second = torch.zeros_like(hidden), torch.zeros_like(hidden)
        for step in range(1, steps + 1):
            image = torch.sigmoid(hidden)
            gradient = _gradient(module, low + (high - low) * image, y, again=True)
            loss = 1 - _cosine(gradient, change) + SMOOTH * _variation(image)
            (slope,) = torch.autograd.grad(loss, [hidden])
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            rate = RATE * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
            hidden = (hidden.detach() - rate * first / (second.sqrt() + 1e-8)).requires_grad_()
        return low + (high - low) * torch.sigmoid(hidden.detach())

    return torch.stack([drawn(pair, y) for pair, y in zip(pairs, labels, strict=True)])


def likeness_ranks(made: Tensor, labels: Tensor, truth: Samples, held_out: Samples) -> list[float]:
    """By forgotten sample, the share of held-out samples of its class that a reconstruction resembles less,
    by the largest correlation with one of its class: 1/2 for guesses, 1 where it is the likest.

    Args:
        made, labels: the reconstructions, (k, ...), and their labels, (k,).
        truth: the k forgotten samples.
    """
    ranks = []
    for x, y in zip(truth.x, truth.y, strict=True):
        drawn = _standard(made[labels == y])
        own = (_standard(x[None]) @ drawn.T).max()
        rest = (_standard(held_out.x[held_out.y == y]) @ drawn.T).amax(1)
        ranks.append(float(((rest < own).double() + (rest == own).double() / 2).mean()))
    return ranks


def _gradient(module: nn.Module, x: Tensor, y: Tensor, again: bool = False) -> Tensor:
    """Of the mean loss by all parameters, flat; to be differentiated again where asked for."""
    loss = functional.cross_entropy(module(x), y)
    found = torch.autograd.grad(loss, list(module.parameters()), create_graph=again)
    return torch.cat([each.flatten() for each in found])


def _cosine(one: Tensor, other: Tensor) -> Tensor:
    return functional.cosine_similarity(one, other, dim=0)


def _variation(image: Tensor) -> Tensor:
    """Mean absolute difference of neighbouring pixels, summed over images."""
    across, down = image.diff(dim=-1).abs(), image.diff(dim=-2).abs()
    return across.mean((-1, -2)).sum() + down.mean((-1, -2)).sum()


def _standard(images: Tensor) -> Tensor:
    """Rows of mean 0 and norm 1, whose products are correlations, float64 (n, pixels)."""
    flat = images.flatten(1).double()
    return functional.normalize(flat - flat.mean(1, keepdim=True), dim=1)
