# SPDX-License-Identifier: Apache-2.0
"""Share of a GPU that a task needs, estimated from the memory of its first step on this machine's GPU.

Each task is a process of its own with its own context, so several may share a card if their shares fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import BATCH, hits
from blockful_py.learning.models import Architecture
from blockful_py.learning.together import TrainingJob, fit_together
from blockful_py.learning.weights import Weights

CONTEXT = 800 * 2**20
"""Bytes of GPU memory per process outside torch's allocator (docs/reference/performance.md)."""

MARGIN = 1.2
"""Safety factor for later steps that need more memory than the first."""


def training_share(architecture: Architecture, jobs: Sequence[TrainingJob]) -> float:
    """Share of a GPU, from 0 (on a CPU) to 1, for training these jobs at once.

    Trains each job for one step on its first batch, and adds the size of its other samples.
    """
    batch = jobs[0].settings.batch_size
    brief = [
        replace(
            job,
            samples=job.samples.at(torch.arange(min(batch, len(job.samples)))),
            settings=replace(job.settings, epochs=1),
            stream=torch.Generator("cpu").manual_seed(0),
        )
        for job in jobs
    ]
    return measured_share([job.samples for job in jobs], lambda: fit_together(architecture, brief))


def scoring_share(architecture: Architecture, weights: Weights, samples: Samples) -> float:
    """Share of a GPU, from 0 (on a CPU) to 1, for scoring one model."""
    some = samples.at(torch.arange(min(BATCH, len(samples))))
    return measured_share([samples], lambda: hits(architecture, {"": weights}, some))


def measured_share(samples: Sequence[Samples], step: Callable[[], object]) -> float:
    """Share of a GPU, from 0 (on a CPU) to 1, for `step` plus one or more sets of samples."""
    device = samples[0].x.device
    if device.type != "cuda":
        return 0.0
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved(device)
    torch.cuda.reset_peak_memory_stats(device)
    step()
    peak = torch.cuda.max_memory_reserved(device) - before
    size = sum(map(_bytes, samples))
    return share_of(peak, size, torch.cuda.get_device_properties(device).total_memory)


def share_of(peak: int, samples: int, total: int) -> float:
    """Share of a card with `total` bytes, rounded up to hundredths, at most 1.

    Args:
        peak: peak bytes in torch's allocator during a step.
        samples: bytes of the samples.
    """
    return min(1.0, math.ceil(100 * MARGIN * (CONTEXT + peak + samples) / total) / 100)


def _bytes(samples: Samples) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in (samples.x, samples.y))
