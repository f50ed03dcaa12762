# SPDX-License-Identifier: Apache-2.0
"""Selects the device of tensors, and reports its errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.plugins import failing_as

Backend = str | Callable[..., Any]

NO_MEMORY = "can't allocate memory"
"""Words of torch's CPU allocator in its RuntimeError, which has no class of its own."""


def use_threads(count: int) -> None:
    """Sets torch's number of CPU threads in this process; the rounding of sums depends on it."""
    torch.set_num_threads(count)


def use_portable_products() -> None:
    """Asks MKL for matrix products that round alike on every x86-64 processor.

    See "The same bits" in docs/reference/learning.md.  Works before the first product of the process; an
    MKL_CBWR that is set already stays.
    """
    os.environ.setdefault("MKL_CBWR", "COMPATIBLE")


def use_repeatable_kernels(device: torch.device) -> None:
    """On a GPU, asks torch for kernels that give the same bits each time, and for convolutions in float32.

    See "On a GPU" in docs/reference/learning.md.  Works before the first product of the process on a GPU; a
    CUBLAS_WORKSPACE_CONFIG that is set already stays.  Operations without such a kernel warn.
    """
    if device.type != "cuda":
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.allow_tf32 = False
    for fused_attention in (
        torch.backends.cuda.enable_flash_sdp,
        torch.backends.cuda.enable_mem_efficient_sdp,
        torch.backends.cuda.enable_cudnn_sdp,
    ):
        fused_attention(False)


def resolve_device(name: str) -> torch.device:
    """`"auto"` is the GPU where there is one, else the CPU.

    Raises:
        SettingsError: not a device of torch, or not one of this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingsError(f"device must be auto, cpu or cuda[:n], not {name!r}.") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device {name!r} is not there ({torch.cuda.device_count()} GPUs found): use device = auto."
        )
    return device


@contextmanager
def network_errors(device: torch.device) -> Iterator[None]:
    """Turns what a network raises into a LearningError; out of memory, it names the settings to lower."""
    with failing_as(LearningError, "the network"):
        try:
            yield
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not isinstance(error, torch.OutOfMemoryError | MemoryError) and NO_MEMORY not in str(error):
                raise
            raise LearningError(
                f"device {device} is out of memory: lower learning.batch_size, or choose a smaller "
                f"learning.model. {str(error).splitlines()[0]}"
            ) from None


def compiled(module: nn.Module, backend: Backend = "inductor") -> Callable[[Tensor], Tensor]:
    """The network through torch.compile: inputs (B, ...) to logits (B, classes).

    The first call compiles the network; a call that cannot be compiled raises SettingsError.
    """
    run = torch.compile(module, backend=backend)

    def forward(x: Tensor) -> Tensor:
        try:
            logits: Tensor = run(x)
        except torch._dynamo.exc.TorchDynamoException as error:
            raise SettingsError(
                f"torch.compile cannot compile this network here: set learning.compiled = false. "
                f"{str(error).strip().splitlines()[0]}"
            ) from None
        return logits

    return forward
