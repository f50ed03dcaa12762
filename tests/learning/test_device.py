# SPDX-License-Identifier: Apache-2.0
"""The device that "auto" takes, and what torch is asked for on a GPU.  No test needs one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from blockful_py.errors import SettingsError
from blockful_py.learning.models import Architecture
from blockful_py.learning.training_setup import device_for, set_torch_up
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


Asked = tuple[bool, bool, bool, str | None]


def asked() -> Asked:
    """Kernels that repeat their bits, convolutions in TF32, fused attention, and cuBLAS's workspaces."""
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cudnn.allow_tf32,
        torch.backends.cuda.mem_efficient_sdp_enabled(),  # type: ignore[no-untyped-call]
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )


@pytest.fixture
def as_torch_comes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Torch before anything is asked of it, and again after the test."""
    monkeypatch.setattr("blockful_py.learning.training_setup.use_threads", lambda count: None)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    torch.backends.cuda.enable_cudnn_sdp(True)


@pytest.mark.usefixtures("as_torch_comes")
def test_a_gpu_is_asked_for_kernels_that_repeat_their_bits_and_a_cpu_for_nothing() -> None:
    before = asked()
    set_torch_up("resnet18", CPU, 1)
    assert asked() == before == (False, True, True, None)
    set_torch_up("resnet18", GPU, 1)
    assert asked() == (True, False, False, ":4096:8")
