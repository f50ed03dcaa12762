# SPDX-License-Identifier: Apache-2.0
"""Feature maps from trained networks that stay as they are: whole numbers from 0 to 255 of one sample.

A sample's penultimate activations a are divided by their largest: `f = round(255 max(a, 0) / max_j a_j)`.  If
no activation is above 0, all features are 0.  So a sample alone determines its features.

Activations are computed in float64 from float32 weights.  Processors that add in other orders differ in the
last digits of an activation, so their features differ only where 255 a / max a is as near to the middle
between two whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.device import network_errors
from blockful_py.learning.models.layers import output_layers
from blockful_py.learning.models.networks import GROUP, NETWORKS
from blockful_py.learning.models.random_features import CHUNK, MOST_FEATURES, TOP
from blockful_py.learning.plugins import find
from blockful_py.learning.weights import Weights, from_bytes, odd_tensor
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec

MOST_BYTES = 1 << 30
"""Bytes of a file of weights."""

CPU = torch.device("cpu")
Array = NDArray[np.float64]


class Frozen(NamedTuple):
    """A trained network in a file.

    Attributes:
        network: its name, or package.module:object.
        classes: classes that it was trained on, the outputs of its last layer.
        weights: path of its weights, as safetensors, such as `model.safetensors` of an exported model.
        cid: CIDv1 (raw, sha2-256) of the whole file.
    """

    network: str
    classes: int
    weights: str
    cid: str


class FrozenFeatures:
    """Quantised penultimate activations of a network.

    Attributes:
        count: features of a sample.
    """

    def __init__(self, module: nn.Module, head: nn.Linear) -> None:
        self._module, self._head = module.eval(), head
        self.count = head.in_features

    def __call__(self, x: Array) -> Array:
        """Features, float64 (n, count), of inputs, float64 (n, ...).

        Raises LearningError: the network fails on these inputs, or its activations are not finite.
        """
        seen: list[Tensor] = []
        hook = self._head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].flatten(1)))
        try:
            with network_errors(CPU), torch.inference_mode():
                for start in range(0, len(x), CHUNK):
                    self._module(torch.from_numpy(x[start : start + CHUNK]))
        finally:
            hook.remove()
        return quantised(torch.cat(seen).numpy()) if seen else np.zeros((0, self.count))


def quantised(activations: Array) -> Array:
    """Whole numbers from 0 to 255, float64 (n, F), of activations (n, F).

    Raises LearningError: one is NaN or infinite.
    """
    if not np.isfinite(activations).all():
        raise LearningError(
            "the frozen network has NaN or infinite activations: choose other weights (learning.options), or "
            "leave such inputs out."
        )
    positive = np.maximum(activations, 0.0)
    largest = positive.max(1, keepdims=True)
    whole: Array = np.rint(positive / np.where(largest > 0, largest, 1.0) * TOP)
    return whole


@lru_cache(maxsize=4)
def frozen_features(shape: tuple[int, ...], frozen: Frozen) -> FrozenFeatures:
    """The map of a network for inputs of a shape; a file is read once in a process.

    Raises:
        SettingsError: the network is unknown, or does not fit the inputs or the weights; or the file is
            missing, too large or another one.
        FormatError, LearningError: the file is no whole safetensors file, or has numbers that are not finite.
    """
    builder: Callable[..., nn.Module] = find(frozen.network, "network", NETWORKS, GROUP)
    module = builder(shape, frozen.classes, torch.device("meta"))
    weights = weights_in(frozen, module, shape)
    exact = {name: each.double() if each.is_floating_point() else each for name, each in weights.items()}
    module.load_state_dict(exact, assign=True)
    if any(each.is_meta for each in (*module.parameters(), *module.buffers())):
        raise SettingsError(
            f"network {frozen.network!r} keeps tensors out of its state dict: choose another."
        )
    heads = output_layers(module, frozen.classes)
    if not heads or heads[-1][1].in_features > MOST_FEATURES:
        raise SettingsError(
            f"network {frozen.network!r} must end in a linear layer of {frozen.classes} outputs and at most "
            f"{MOST_FEATURES} inputs, which become the features: choose another."
        )
    return FrozenFeatures(module, heads[-1][1])


def weights_in(frozen: Frozen, module: nn.Module, shape: tuple[int, ...]) -> Weights:
    """The state dict in a network's file.

    Args:
        module: the network, without weights, for inputs of this shape.

    Raises:
        SettingsError: the file is missing, too large or another one, or has the weights of another network.
        FormatError, LearningError: it is no whole safetensors file, or has numbers that are not finite.
    """
    weights = from_bytes(_checked(Path(frozen.weights), frozen.cid))
    odd = odd_tensor(module.state_dict(), weights)
    if odd is not None:
        raise SettingsError(
            f"{frozen.weights} has not the weights of a {frozen.network!r} for inputs of shape {shape} and "
            f"{frozen.classes} classes: {odd}. Name the network and the classes that it was trained on."
        )
    return weights


def _checked(path: Path, cid: str) -> bytes:
    """The bytes of the file with this CID.  Raises SettingsError for a file that is missing or another."""
    try:
        if not path.is_file():
            raise SettingsError(f"{path} is no file: put the frozen network's weights there.")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be read ({error.strerror}): put the frozen network's weights there."
        ) from None
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} has more than {MOST_BYTES:,} bytes: choose a smaller frozen network.")
    found = cid_string(uri_of(data, Codec.RAW))
    if found != cid:
        raise SettingsError(
            f"{path} has the CID {found}, and learning.options.cid is {cid!r}: get the file that all members "
            "have, or, if this is it, name its CID."
        )
    return data
