# SPDX-License-Identifier: Apache-2.0
"""A network class of a Flower app, which takes no arguments, as a model of the settings."""

from __future__ import annotations

import torch
from torch import nn

from blockful_py.learning.models.registry import GROUP, Builder
from blockful_py.learning.plugins import find


def network(input_shape: tuple[int, ...], class_count: int, device: torch.device, of: str) -> nn.Module:
    """The network that `of`, package.module:class, makes without arguments, on the device.

    Named in settings as `learning.model = "blockful_py.flower.network:network"`.  Raises SettingsError when
    the class cannot be imported, and TypeError when it wants arguments.
    """
    made: Builder = find(of, "model", {}, GROUP)
    with device:
        return made()
