# SPDX-License-Identifier: Apache-2.0
"""The model of sums: a fixed feature map, and a head that follows from sums over samples."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.models.frozen import Frozen, frozen_features
from blockful_py.learning.models.random_features import FeatureMap, feature_map
from blockful_py.learning.models.ridge import Head, head_of
from blockful_py.learning.sums import (
    CONSTANT,
    SHIFT,
    held,
    no_sums,
    part_of,
    require_bounds,
    total_of,
    with_part,
)

SHARPNESS = 8.0 / CONSTANT
"""Logits of a unit of the head's output, which is 255 for a class and 0 for the others."""

HEAD, UNIT = "head", "unit"
"""Tensors of a model whose sums are shared."""

FEATURES = 128
"""Random features, unless the settings say otherwise."""


class Analytic(nn.Module):
    """Fixed features and a ridge head; its state dict holds sums (`learning.sums`) instead of weights.

    If sums are shared, it holds the head that members opened: whole numbers HEAD, int32 (F, classes), and the
    exponent UNIT of their unit 2^-UNIT, int64 ().

    Computed on the CPU in whole numbers, so with random features a prediction has the same bits on every
    machine; `models.frozen` says what holds for a network's features.

    Args:
        shared: whether the state dict is a head.
        features: random features of a sample, without the constant one; FEATURES unless given.
        network, classes, weights, cid: of a frozen network whose features are taken instead (`Frozen`).

    Raises SettingsError: options that do not go together; also as `frozen_features`.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        class_count: int,
        device: torch.device,
        *,
        shared: bool = False,
        features: int | None = None,
        network: str | None = None,
        classes: int | None = None,
        weights: str | None = None,
        cid: str | None = None,
    ) -> None:
        super().__init__()
        self._map, count = _mapped(input_shape, features, (network, classes, weights, cid))
        self._classes = class_count
        entries = (count + 1) * (count + 2) // 2
        state = head_weights(None, count + 1, class_count) if shared else no_sums(class_count, entries)
        for name, tensor in state.items():
            self.register_buffer(name, tensor.to(device))
        self._head: tuple[NDArray[np.float64], int, list[int]] | None = None
        self.register_load_state_dict_post_hook(_forget_head)  # type: ignore[no-untyped-call]

    def features(self, x: Tensor) -> NDArray[np.float64]:
        """Features, whole numbers from 0 to 255, float64 (n, F), of inputs (n, ...)."""
        found = self._map(x.detach().cpu().numpy().astype(np.float64))
        return np.concatenate([found, np.full((len(found), 1), float(CONSTANT))], 1)

    def learned(self, samples: Samples) -> dict[str, Tensor]:
        """State dict with the sums of n samples as the own part, in place of the present one.

        Raises LearningError: the sums are too large.
        """
        part = part_of(self.features(samples.x), samples.y.cpu().numpy(), self._classes)
        return with_part({name: tensor.cpu() for name, tensor in self.state_dict().items()}, part)

    def train(self, mode: bool = True) -> Analytic:
        """Refuses training mode, because sums have no gradients.  Raises LearningError."""
        if mode:
            raise LearningError(
                "a model of sums (learning.model = 'analytic') has no gradients: choose the method subtract, "
                "or another learning.model."
            )
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, float32 (B, classes), of inputs (B, ...).  Raises as `logits`."""
        return torch.from_numpy(self.logits(self.features(x))).to(x.device)

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float32]:
        """Logits (n, classes) of features (n, F); classes without samples have a row's smallest.

        Raises LearningError: the sums are out of bounds.
        """
        if self._head is None:
            self._head = self._solved()
        head, exponent, there = self._head
        logits = features @ head
        if there and len(there) < self._classes:
            least = logits[:, there].min(1, keepdims=True) - CONSTANT * 2.0**exponent
            absent = np.setdiff1d(np.arange(self._classes), there)
            logits[:, absent] = least
        scaled: NDArray[np.float32] = (np.ldexp(logits, -exponent) * SHARPNESS).astype(np.float32)
        return scaled

    def _solved(self) -> tuple[NDArray[np.float64], int, list[int]]:
        state = self.state_dict()
        if HEAD in state:
            head = state[HEAD].numpy().astype(np.float64)
            return head, int(state[UNIT]), np.flatnonzero(head.any(0)).tolist()
        require_bounds(state)
        return *head_of(total_of(state), int(state[SHIFT])), list(held(state))


def head_weights(head: Head | None, features: int, classes: int) -> dict[str, Tensor]:
    """The state dict of an opened head (F, classes); of None, zeros, where no head is opened."""
    numbers, unit = (np.zeros((features, classes)), 0) if head is None else head
    return {
        HEAD: torch.from_numpy(numbers.astype(np.int32)),
        UNIT: torch.tensor(unit, dtype=torch.int64),
    }


def _mapped(
    shape: tuple[int, ...], features: int | None, frozen: tuple[object, ...]
) -> tuple[FeatureMap, int]:
    """The feature map of the options, and its number of features."""
    if all(each is None for each in frozen):
        count = FEATURES if features is None else features
        return feature_map(shape, count), count
    network, classes, weights, cid = frozen
    named = isinstance(network, str) and isinstance(weights, str) and isinstance(cid, str)
    if not named or type(classes) is not int or classes < 1 or features is not None:
        raise SettingsError(
            "features of a frozen network need learning.options network, classes (a number from 1), weights "
            "(a file) and cid, all four, and no features: their number is the network's."
        )
    found = frozen_features(shape, Frozen(str(network), classes, str(weights), str(cid)))
    return found, found.count


def _forget_head(module: nn.Module, _: object) -> None:
    module._head = None  # type: ignore[assignment]
