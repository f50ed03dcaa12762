# SPDX-License-Identifier: Apache-2.0
"""Differentially private training, DP-SGD (Abadi et al. 2016), through Opacus.

Each sample's gradient is scaled down to an L2 norm of at most `clip`, and noise of standard deviation `noise
* clip` is added to the sum.  Each sample joins a batch independently with probability `q = batch / n`, as the
accountant assumes (Mironov, Talwar and Zhang 2019).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from blockful_py.errors import LearningError
from blockful_py.extras import needed_by
from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights, detached, require_finite
from blockful_py.settings import PrivacySettings, TrainingSettings


@dataclass(frozen=True, slots=True)
class Spent:
    """Privacy spent by one training: (epsilon, delta)-differential privacy of the user's training samples.

    Attributes:
        noise: standard deviation of the noise, in multiples of `clip`.
        clip: maximum L2 norm of a sample's gradient.
        sample_rate: probability that a sample joins a batch.
        steps: number of batches.
        epsilon: computed from the other attributes by `epsilon_of`, so anyone can verify it.
    """

    noise: float
    clip: float
    delta: float
    sample_rate: float
    steps: int
    epsilon: float


def spent(settings: TrainingSettings, size: int) -> Spent | None:
    """Privacy spent by training on `size` samples; None without noise.  Raises as `epsilon_of`."""
    privacy = settings.privacy
    if privacy is None:
        return None
    rate, steps = _schedule(settings, size)
    epsilon = epsilon_of(privacy.noise, rate, steps, privacy.delta)
    return Spent(privacy.noise, privacy.clip, privacy.delta, rate, steps, epsilon)


def epsilon_of(noise: float, sample_rate: float, steps: int, delta: float) -> float:
    """epsilon of the subsampled Gaussian mechanism, by Renyi accounting (Mironov, Talwar and Zhang 2019).

    Args:
        noise: standard deviation of the noise, in multiples of the clipping norm.

    Raises SettingsError: Opacus is not installed.
    """
    with needed_by("learning.privacy"):
        from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(noise, sample_rate, steps)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the best order may be the first or last candidate
        return float(accountant.get_epsilon(delta))


def train_privately(
    architecture: Architecture,
    weights: Weights,
    samples: Samples,
    settings: TrainingSettings,
    privacy: PrivacySettings,
    stream: torch.Generator,
) -> Weights:
    """Trains as `training.train` does, with clipped and noisy gradients (Abadi et al. 2016, algorithm 1).

    The noise is drawn from `stream`: epsilon protects only against parties that do not know the seed.

    Args:
        weights: initial state dict.
        samples: n samples; training runs on their device.

    Returns a state dict on the CPU.

    Raises:
        SettingsError: Opacus is not installed.
        LearningError: a network that mixes samples, or a result that is not finite.
    """
    with needed_by("learning.privacy"):
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer

    device = samples.x.device
    module = architecture.module(weights, device).train()
    _require_separable(module, architecture.name)
    rate, steps = _schedule(settings, len(samples))
    noise = torch.Generator(device).manual_seed(int(torch.randint(2**62, (1,), generator=stream)))
    wrapped = GradSampleModule(module, loss_reduction="sum")
    optimiser = DPOptimizer(
        torch.optim.SGD(
            wrapped.parameters(),
            lr=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        ),
        noise_multiplier=privacy.noise,
        max_grad_norm=privacy.clip,
        expected_batch_size=rate * len(samples),
        loss_reduction="mean",
        generator=noise,
    )
    for step in range(steps):
        rows = torch.nonzero(torch.rand(len(samples), generator=stream) < rate).flatten()
        for group in optimiser.param_groups:
            group["lr"] = settings.rate_at(step, steps)
        optimiser.zero_grad()
        _gradients(wrapped, samples.at(rows))
        optimiser.step()
    trained = detached({name: tensor.cpu() for name, tensor in module.state_dict().items()})
    require_finite(trained, "a privately trained model")
    return trained


def _schedule(settings: TrainingSettings, size: int) -> tuple[float, int]:
    """Probability that a sample joins a batch, and number of batches."""
    return min(1.0, settings.batch_size / size), settings.epochs * -(-size // settings.batch_size)


def _gradients(wrapped: Any, batch: Samples) -> None:
    """Sets `grad_sample`, (B, *shape), of each parameter; an empty batch has B = 0 and gets only noise."""
    if len(batch):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Full backward hook is firing")  # inputs need no gradients
            loss: Any = functional.cross_entropy(wrapped(batch.x), batch.y, reduction="sum")
            loss.backward()
    else:
        for parameter in wrapped.parameters():
            parameter.grad_sample = torch.zeros((0, *parameter.shape), device=parameter.device)


def _require_separable(module: nn.Module, name: str) -> None:
    from opacus.validators import ModuleValidator

    problems = ModuleValidator.validate(module)
    if problems:
        raise LearningError(
            f"model {name!r} cannot be trained privately, since it mixes the samples of a batch "
            f"({str(problems[0]).splitlines()[0][:120]}): take one without batch normalisation, "
            'or set learning.options = {norm = "group"}.'
        )
