# SPDX-License-Identifier: Apache-2.0
"""The merged model: a base, and sums of parts that owners train on it apart from each other.

An owner trains the network from the base on its own data alone.  Its part holds the change of each weight,
in steps of STEP, rounded, clipped to at most HALF - 1 of them and raised by HALF, and then HALF itself:

    s_i = [HALF + clip(round((w_i - b) / STEP)), HALF]

So all entries are from 1, and below 2^31, as in sums over samples, and are added up like them
(`learning.sums`).  An owner without samples has a part of zeros.  With `T_y = [t, n]`, the weights of model y
are the base and a mean of the changes,

    w_y = b + (t / n - 1) HALF STEP,

in which the part of model i has the weight `A[y, i] / sum of A[y, j] over the parts j that are there`; the
graph alone determines A.  A model without parts is the base.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.models.frozen import Frozen, weights_in
from blockful_py.learning.models.networks import GROUP, NETWORKS
from blockful_py.learning.plugins import find
from blockful_py.learning.sums import (
    BITS,
    HALF,
    INHERITED,
    SHIFT,
    no_sums,
    require_bounds,
    total_of,
    with_part,
)
from blockful_py.learning.weights import Weights, detached

STEP = 2.0**-24
"""Unit of a change, the spacing of float32 below 1; changes are below 64."""

NETWORK = "cnn"
"""The base's network, unless the settings say otherwise."""


class Merged(nn.Module):
    """A network whose weights are a base and a mean of separately trained changes.

    The changed tensors are the trainable parameters and the floating-point buffers, by ascending name.

    Args:
        vocabulary: number of token ids, for texts.
        network: its name, or package.module:object.
        weights, cid: file of the base, and its CID (raw, sha2-256); by default the base is the network's
            initialisation.

    Raises SettingsError: an unknown network, or only one of `weights` and `cid`.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        class_count: int,
        device: torch.device,
        *,
        vocabulary: int | None = None,
        network: str = NETWORK,
        weights: str | None = None,
        cid: str | None = None,
    ) -> None:
        super().__init__()
        if (weights is None) != (cid is None):
            raise SettingsError(
                "a base from a file needs learning.options weights (the file) and cid; give both or neither."
            )
        named = weights is not None and cid is not None
        self._file = Frozen(network, class_count, str(weights), str(cid)) if named else None
        self._shape = input_shape
        builder = find(network, "network", NETWORKS, GROUP)
        tokens = {} if vocabulary is None else {"vocabulary": vocabulary}
        self.base: nn.Module = builder(input_shape, class_count, device, **tokens)
        fixed = {name for name, each in self.base.named_parameters() if not each.requires_grad}
        self.base.requires_grad_(False)
        state = self.base.state_dict()
        self._changed = sorted(
            name for name, each in state.items() if each.is_floating_point() and name not in fixed
        )
        entries = 1 + sum(state[name].numel() for name in self._changed)
        for name, tensor in no_sums(1, entries).items():
            self.register_buffer(name, tensor.to(device))
        self._weights: Weights | None = None
        self.register_load_state_dict_post_hook(_forget_weights)  # type: ignore[no-untyped-call]

    def initialise(self, stream: torch.Generator) -> None:
        """Fills the base: as the network does, or from its file.  Raises as `weights_in`."""
        own = getattr(self.base, "initialise", None)
        if own is not None:
            own(stream)
        if self._file is not None:
            self.base.load_state_dict(dict(weights_in(self._file, self.base, self._shape)))

    def base_weights(self) -> Weights:
        """The base's state dict."""
        return detached(self.base.state_dict())

    def learned(self, trained: Weights) -> dict[str, Tensor]:
        """State dict with the change from the base to trained weights as the own part.

        Raises LearningError: the sums are too large.
        """
        return self._with_change(self._steps(trained))

    def answering_as(self, network: Weights) -> dict[str, Tensor]:
        """State dict with the own part that makes this model predict as a network, up to rounding.

        The part is clipped as any, so a network far from the inherited ones is not reached.

        Raises LearningError: the sums are too large.
        """
        state = self.state_dict()
        low, high = state[INHERITED][:, 0].double()
        inherited = (low + high * 2.0**BITS) / 2.0 ** int(state[SHIFT])
        steps = self._steps(network)
        return self._with_change(steps + (steps + HALF) * inherited[-1] / HALF - inherited[:-1])

    def _steps(self, network: Weights) -> Tensor:
        """Changes from the base to a network's weights, in steps, float64 (E - 1,)."""
        base = self.base.state_dict()
        changes = [network[name].cpu().double() - base[name].cpu().double() for name in self._changed]
        return torch.cat([each.flatten() for each in changes]) / STEP

    def _with_change(self, steps: Tensor) -> dict[str, Tensor]:
        whole = steps.round().clamp(1 - HALF, HALF - 1).to(torch.int32) + HALF
        part = torch.cat([whole, torch.tensor([HALF], dtype=torch.int32)])[None]
        return with_part({name: each.cpu() for name, each in self.state_dict().items()}, part.numpy())

    def network_weights(self) -> Weights:
        """State dict of the network that predicts, on the base's device.

        Computed in float64, with one rounding a step, so with the same bits everywhere.

        Raises LearningError: the sums are out of bounds.
        """
        state = self.state_dict()
        require_bounds(state)
        low, high = torch.from_numpy(total_of(state)[:, 0]).double()
        total = low + high * 2.0**BITS
        merged = self.base_weights()
        if not total[-1]:
            return merged
        change = (total[:-1] / total[-1] - 1) * (HALF * STEP)
        sizes = [merged[name].numel() for name in self._changed]
        for name, each in zip(self._changed, torch.split(change, sizes), strict=True):
            base = merged[name]
            moved = base.cpu().double() + each.view(base.shape)
            merged = {**merged, name: moved.to(base)}
        return merged

    def train(self, mode: bool = True) -> Merged:
        """Refuses training mode: the network of the base is trained.  Raises LearningError."""
        if mode:
            raise LearningError(
                "a merged model (learning.model = 'merged') has no gradients: choose the method subtract, or "
                "another learning.model."
            )
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, float32 (B, classes), of inputs (B, ...).  Raises as `network_weights`."""
        if self._weights is None:
            self._weights = self.network_weights()
        logits: Tensor = functional_call(self.base, dict(self._weights), (x,))
        return logits


def _forget_weights(module: nn.Module, _: object) -> None:
    module._weights = None  # type: ignore[assignment]
