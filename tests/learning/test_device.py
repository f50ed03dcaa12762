# SPDX-License-Identifier: Apache-2.0
"""The device that "auto" takes, and what torch is asked for on a GPU.  No test needs one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.training_setup import device_for
from blockful_py.settings import TrainingSettings

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SMALL = Architecture("cnn", (1, 8, 8), 10)
PLAIN = TrainingSettings()


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU, as far as torch is asked for one."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)


@pytest.mark.usefixtures("card")
def test_auto_leaves_to_the_cpu_what_trains_in_stacks_there() -> None:
    assert device_for("auto", SMALL, PLAIN) == CPU
    assert device_for("auto", SMALL, TrainingSettings(together="stacked")) == CPU
    assert device_for("cuda", SMALL, PLAIN) == GPU


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize(
    ("architecture", "training"),
    [
        (Architecture("resnet18", (1, 8, 8), 10), PLAIN),
        (Architecture("cnn", (1, 28, 28), 10), PLAIN),
        (Architecture("cnn", (1, 28, 28), 10), TrainingSettings(together="stacked")),
        (SMALL, TrainingSettings(together="loop")),
        (SMALL, TrainingSettings(precision="bfloat16")),
    ],
)
def test_auto_takes_the_gpu_for_all_others(architecture: Architecture, training: TrainingSettings) -> None:
    assert device_for("auto", architecture, training) == GPU
    assert device_for("cpu", architecture, training) == CPU


def test_without_a_gpu_auto_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert device_for("auto", Architecture("resnet18", (1, 8, 8), 10), PLAIN) == CPU
    with pytest.raises(SettingsError, match="cuda"):
        device_for("cuda", SMALL, PLAIN)


ASKS = """
import os, torch
from blockful_py.learning.training_setup import set_torch_up
for device in ('cpu', 'cuda'):
    set_torch_up('resnet18', torch.device(device), 3)
    print(
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cudnn.allow_tf32,
        torch.backends.cuda.mem_efficient_sdp_enabled(),
        os.environ.get('CUBLAS_WORKSPACE_CONFIG'),
    )
"""


def test_a_gpu_is_asked_for_kernels_that_repeat_their_bits_and_a_cpu_for_nothing() -> None:
    """In a process of its own, since torch keeps what it is asked for."""
    own = {name: value for name, value in os.environ.items() if name != "CUBLAS_WORKSPACE_CONFIG"}
    told = subprocess.run(
        [sys.executable, "-c", ASKS], capture_output=True, text=True, check=True, timeout=600, env=own
    )
    assert told.stdout.splitlines() == ["False True True None", "True False False :4096:8"]
