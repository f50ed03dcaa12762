# SPDX-License-Identifier: Apache-2.0
"""Uses a network class of a Flower app, which takes no arguments, as a model of the settings."""

from __future__ import annotations

import torch
from torch import nn

from blockful_py.learning.models.registry import GROUP, Builder
from blockful_py.learning.plugins import find


def network(input_shape: tuple[int, ...], class_count: int, device: torch.device, of: str) -> nn.Module:
    """The network made by the class `of` (package.module:class) without arguments, on the device.

    In settings: `learning.model = "blockful_py.flower.network:network"`.  Raises SettingsError if the class
    cannot be imported, and TypeError if it requires arguments.
    """
    made: Builder = find(of, "model", {}, GROUP)
    with device:
        return made()
