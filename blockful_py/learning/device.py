# SPDX-License-Identifier: Apache-2.0
"""Device selection, reproducibility settings, and device errors."""

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
"""Part of the message of torch's CPU allocator, whose RuntimeError has no class of its own."""


def use_threads(count: int) -> None:
    """Sets torch's number of CPU threads in this process; the rounding of sums depends on it."""
    torch.set_num_threads(count)


def use_portable_products() -> None:
    """Makes MKL round matrix products alike on every x86-64 processor.

    See "The same bits" in docs/reference/learning.md.  Call it before the process's first product.  An
    MKL_CBWR already set is kept.
    """
    os.environ.setdefault("MKL_CBWR", "COMPATIBLE")


def use_repeatable_kernels(device: torch.device) -> None:
    """Makes torch use deterministic GPU kernels, and float32 for convolutions.

    See "On a GPU" in docs/reference/learning.md.  Call it before the process's first product on a GPU.  A
    CUBLAS_WORKSPACE_CONFIG already set is kept.  Operations without a deterministic kernel warn.
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


@contextmanager
def products(precision: str) -> Iterator[None]:
    """Lets a GPU round the inputs of float32 products and convolutions to TF32 within the block, if asked."""
    tf32 = precision == "tf32"
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def own_stream(device: torch.device) -> torch.cuda.Stream | None:
    """A new stream of a GPU, for `torch.cuda.stream`; None of a CPU."""
    return torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]


def resolve_device(name: str) -> torch.device:
    """The device of a name; "auto" is the GPU if there is one, else the CPU.

    Raises SettingsError: not a device of torch, or not one of this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingsError(f"device must be auto, cpu or cuda[:n], not {name!r}.") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SettingsError(
            f"device {name!r} does not exist ({torch.cuda.device_count()} GPUs found): use device = auto."
        )
    return device


@contextmanager
def network_errors(device: torch.device) -> Iterator[None]:
    """Turns a network's errors into LearningError; an out-of-memory message names the settings to lower."""
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
    """Compiles the network by torch.compile: inputs (B, ...) to logits (B, classes).

    Compilation happens on the first call, which raises SettingsError if it fails.
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
