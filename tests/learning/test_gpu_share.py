# SPDX-License-Identifier: Apache-2.0
"""A task takes as much of a GPU as its first step needs memory, and nothing of one on a CPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
import torch

from blockful_py.learning import gpu_share
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob
from blockful_py.settings import TrainingSettings

GIB = 2**30


def test_nothing_is_taken_on_a_cpu(cnn: Architecture, users: tuple[UserData, ...]) -> None:
    weights = cnn.initial(generator(0))
    job = TrainingJob(weights, users[0].train, TrainingSettings(epochs=1), generator(1))
    assert gpu_share.training_share(cnn, [job]) == 0.0
    assert gpu_share.scoring_share(cnn, weights, users[0].test) == 0.0


@pytest.mark.parametrize(
    ("peak", "samples", "share"), [(0, 0, 0.04), (GIB, 0, 0.09), (4 * GIB, 2 * GIB, 0.33), (99 * GIB, 0, 1.0)]
)
def test_the_share_holds_context_step_and_samples(peak: int, samples: int, share: float) -> None:
    assert gpu_share.share_of(peak, samples, 25 * GIB) == share
    assert share == 1.0 or share * 25 * GIB >= gpu_share.CONTEXT + peak + samples


def test_what_the_allocator_takes_for_the_step_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors fill part of the reserved memory; earlier memory is not counted, and caches are released.

    Without a GPU, torch's counters are replaced.
    """
    taken = {"tensors": 5 * GIB, "kept": 2 * GIB, "peak": 0}

    def step() -> None:
        taken["peak"] = taken["tensors"] + taken["kept"] + 3 * GIB

    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: taken.update(kept=0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: taken["tensors"] + taken["kept"])
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: taken["tensors"])
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda device: None)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: taken["peak"])
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: taken["tensors"] + 2 * GIB)
    card = SimpleNamespace(total_memory=80 * GIB)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: card)
    x = SimpleNamespace(device=torch.device("cuda"), numel=lambda: GIB, element_size=lambda: 1)
    y = SimpleNamespace(numel=lambda: 0, element_size=lambda: 8)
    found = gpu_share.measured_share([cast(Samples, SimpleNamespace(x=x, y=y))], step)
    assert found == gpu_share.share_of(3 * GIB, GIB, 80 * GIB) < gpu_share.share_of(10 * GIB, GIB, 80 * GIB)
