# SPDX-License-Identifier: Apache-2.0
"""The network of an engine's task, and the torch settings that reproduce the driver's bits on any worker."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors import torch as safetensors_torch

from blockful_py.errors import EngineError
from blockful_py.learning.data import Samples
from blockful_py.learning.device import resolve_device
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.registry import GROUP, MODELS
from blockful_py.learning.plugins import find
from blockful_py.learning.training_setup import set_torch_up


def told(architecture: Architecture, device: torch.device, counts_cards: bool) -> dict[str, Any]:
    """Task settings, as JSON, for `network_of`.

    Args:
        counts_cards: see Engine.
    """
    return {
        "architecture": asdict(architecture),
        "source": source_digest(architecture),
        "device": device.type if counts_cards else str(device),
        "threads": torch.get_num_threads(),
    }


def network_of(settings: Mapping[str, Any]) -> tuple[Architecture, torch.device]:
    """Rebuilds the network and device of `told`, and configures torch in this process as in the driver.

    Raises:
        EngineError: this host has another version of the network.
        SettingsError: this host lacks the device.
    """
    device = resolve_device(settings["device"])
    architecture = _architecture(settings["architecture"])
    require_source(source_digest(architecture), settings["source"], f"model {architecture.name!r}")
    set_torch_up(architecture.name, device, settings["threads"])
    return architecture, device


def source_digest(architecture: Architecture) -> str:
    """SHA-256, in hexadecimal, of the source file of a network's builder, which may be in another package."""
    return file_digest(find(architecture.name, "model", MODELS, GROUP))


def file_digest(code: Callable[..., object]) -> str:
    """SHA-256, in hexadecimal, of the source file of a class or function."""
    return sha256(Path(inspect.getfile(code)).read_bytes()).hexdigest()


def require_source(here: str, told: str, what: str) -> None:
    """Compares this host's file digest with the driver's.  Raises EngineError if they differ."""
    if here != told:
        raise EngineError(
            f"a worker on {platform.node()} has another version of {what}: give every host the same module."
        )


def samples_bytes(samples: Samples) -> bytes:
    """The samples as safetensors; equal samples give equal bytes."""
    return safetensors_torch.save({"x": samples.x.cpu().contiguous(), "y": samples.y.cpu().contiguous()})


def samples_from(data: bytes, device: torch.device) -> Samples:
    """Reads the output of `samples_bytes` onto a device."""
    tensors = safetensors_torch.load(data)
    return Samples(tensors["x"].to(device), tensors["y"].to(device))


def _architecture(told: Mapping[str, Any]) -> Architecture:
    return Architecture(
        told["name"],
        tuple(told["input_shape"]),
        told["class_count"],
        told["vocabulary"],
        tuple((name, value) for name, value in told["options"]),
    )
