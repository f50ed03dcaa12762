# SPDX-License-Identifier: Apache-2.0
"""Networks as people bring them: each is used as it is, or refused before anything is deployed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

HIDDEN = 16


class Dense(nn.Module):
    """Two layers; the others below change a part of it."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__()
        self.first = nn.Linear(torch.Size(input_shape).numel(), HIDDEN, device=device)
        self.head = nn.Linear(HIDDEN, classes, device=device)

    def features(self, x: Tensor) -> Tensor:
        return functional.relu(self.first(x.flatten(1)))

    def forward(self, x: Tensor) -> Any:
        return self.head(self.features(x))


class Normalised(Dense):
    """Batch normalisation of one value a channel, for which a sample alone has no variance."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.norm = nn.BatchNorm1d(HIDDEN, device=device)

    def features(self, x: Tensor) -> Tensor:
        return functional.relu(self.norm(self.first(x.flatten(1))))


class Frozen(Dense):
    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.first.requires_grad_(False)


class Dropping(Dense):
    """By a layer and by a function."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.drop = nn.Dropout(0.2)

    def features(self, x: Tensor) -> Tensor:
        return functional.dropout(self.drop(super().features(x)), 0.2, self.training)


class Buffered(Dense):
    """An order of the pixels, a mask, and a scale, none of which is trained."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        size = torch.Size(input_shape).numel()
        self.register_buffer("order", torch.arange(size, device=device).flip(0))
        self.register_buffer("shown", torch.arange(size, device=device) % 7 != 0)
        self.register_buffer("scale", torch.full((size,), 0.5, device=device))

    def features(self, x: Tensor) -> Tensor:
        order, shown, scale = (self.get_buffer(name) for name in ("order", "shown", "scale"))
        return super().features((x.flatten(1) * shown * scale)[:, order])


class Unused(Dense):
    """A layer that forward does not use."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.spare = nn.Linear(2, 2, device=device)


class Transformer(nn.Module):
    """Rows of an image as a sequence."""

    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__()
        self.first = nn.Linear(input_shape[-1], HIDDEN, device=device)
        layer = nn.TransformerEncoderLayer(HIDDEN, 2, HIDDEN, 0.1, batch_first=True, device=device)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(HIDDEN, classes, device=device)

    def initialise(self, generator: torch.Generator) -> None:
        for part in self.modules():
            if isinstance(part, nn.MultiheadAttention):
                part.in_proj_weight.normal_(std=0.1, generator=generator)
                part.in_proj_bias.zero_()

    def features(self, x: Tensor) -> Tensor:
        return self.encoder(self.first(x.squeeze(1))).mean(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


USED = {each.__name__: each for each in (Normalised, Frozen, Dropping, Buffered, Unused, Transformer)}


class Tied(Dense):
    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.middle = nn.Linear(HIDDEN, HIDDEN, device=device)
        self.again = nn.Linear(HIDDEN, HIDDEN, device=device)
        self.again.weight = self.middle.weight


class Lazy(Dense):
    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.first = nn.LazyLinear(HIDDEN, device=device)


class AllFrozen(Dense):
    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes, device)
        self.requires_grad_(False)


class Pair(Dense):
    def forward(self, x: Tensor) -> Any:
        features = self.features(x)
        return features.mean().item(), self.head(features)


class Named(Dense):
    def forward(self, x: Tensor) -> Any:
        return {"logits": super().forward(x)}


class MoreOutputs(Dense):
    def __init__(self, input_shape: tuple[int, ...], classes: int, device: torch.device) -> None:
        super().__init__(input_shape, classes + 1, device)


class Numpy(Dense):
    """As a wrapper of scikit-learn computes."""

    def forward(self, x: Tensor) -> Any:
        return torch.from_numpy(super().forward(x).detach().numpy() + 0.0)


class AlwaysDropping(Dense):
    def features(self, x: Tensor) -> Tensor:
        return functional.dropout(super().features(x))


class InstanceNormalised(Dense):
    """Normalises each sample's one value a channel."""

    def forward(self, x: Tensor) -> Any:
        return self.head(functional.instance_norm(self.features(x)[:, :, None]).squeeze(2))


class Doubling(Dense):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x).double()


class Infinite(Dense):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x) / 0


REFUSED = {
    Tied: r"has middle\.weight a second time as again\.weight.*have forward use self\.middle\.weight",
    Lazy: r"leaves the shape of first\.weight open.*nn\.Linear\(in_features, out_features\)",
    AllFrozen: "has no trainable weight",
    Pair: r"returns tuple: have its forward return logits alone.*\(batch, 10\), as \[1\] of it",
    Named: "returns dict: .*, as its logits",
    MoreOutputs: r"returns \(2, 11\) for 2 samples, not \(2, 10\)",
    Numpy: "gives no gradients: compute in torch",
    AlwaysDropping: r"different logits each time in evaluation.*functional\.dropout\(x, p, self\.training\)",
    InstanceNormalised: r"fails on inputs of shape \(2, 1, 8, 8\) .*more than 1",
    Doubling: r"logits of type torch\.float64: return logits\.float\(\)",
    Infinite: "returns NaN or infinite logits",
}
"""The pattern of each network's refusal."""


def named(network: type[nn.Module]) -> str:
    return f"{__name__}:{network.__name__}"
