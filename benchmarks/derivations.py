# SPDX-License-Identifier: Apache-2.0
"""Ways to derive a model from others without training, for `benchmarks.descent`, and a small transformer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from blockful_py.learning.fingerprint import BLOCK, BUCKETS, _assigned
from blockful_py.learning.models.layers import Classifier
from blockful_py.learning.weights import Weights

WIDTH, FORWARD = 32, 64


class Transformer(Classifier):
    """Two encoder layers over the rows of an image; 18,000 parameters for 8x8 images of 10 classes."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        _, rows, columns = input_shape
        self.embed = nn.Linear(columns, WIDTH, device=device)
        self.places = nn.Parameter(torch.empty(rows, WIDTH, device=device))
        self.query_key_value = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH, device=device) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(WIDTH, WIDTH, device=device) for _ in range(2))
        self.first = nn.ModuleList(nn.Linear(WIDTH, FORWARD, device=device) for _ in range(2))
        self.second = nn.ModuleList(nn.Linear(FORWARD, WIDTH, device=device) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, device=device) for _ in range(4))
        self.head = nn.Linear(WIDTH, class_count, device=device)

    def initialise(self, generator: torch.Generator) -> None:
        """Draws N(0, 0.1) places."""
        self.places.normal_(std=0.1, generator=generator)

    def features(self, x: Tensor) -> Tensor:
        """Mean over rows, float32 (B, WIDTH), of images, float32 (B, 1, H, W)."""
        x = self.embed(x[:, 0]) + self.places  # (B, H, WIDTH)
        for layer in range(2):
            heads = self.query_key_value[layer](self.norms[2 * layer](x)).unflatten(2, (3, 4, -1))
            query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, 4, H, WIDTH / 4) each
            seen = (query @ key.mT / (WIDTH / 4) ** 0.5).softmax(-1) @ value
            x = x + self.out[layer](seen.transpose(1, 2).flatten(2))
            x = x + self.second[layer](torch.relu(self.first[layer](self.norms[2 * layer + 1](x))))
        return x.mean(1)


def is_matrix(tensor: Tensor) -> bool:
    return tensor.dim() > 1


def noisy(weights: Weights, origin: Weights, size: float, draws: torch.Generator) -> Weights:
    """With Gaussian noise, `size` times as long as the change from the origin in each tensor."""
    made = {}
    for name, tensor in weights.items():
        noise = torch.randn(tensor.shape, generator=draws)
        made[name] = tensor + noise * (size * (tensor - origin[name]).norm() / noise.norm())
    return made


def scaled(weights: Weights, factor: float) -> Weights:
    return {name: tensor * factor for name, tensor in weights.items()}


def pruned(weights: Weights) -> Weights:
    """Without the smaller half of each matrix."""
    return {
        name: tensor * (tensor.abs() > tensor.abs().median()) if is_matrix(tensor) else tensor
        for name, tensor in weights.items()
    }


def quantised(weights: Weights, bits: int) -> Weights:
    """Rounded to whole multiples of a tensor's largest weight over 2^(bits - 1) - 1."""
    made = {}
    for name, tensor in weights.items():
        unit = tensor.abs().max() / (2 ** (bits - 1) - 1)
        made[name] = (tensor / unit).round() * unit
    return made


def low_rank(weights: Weights, tuned: Weights, rank: int) -> Weights:
    """With the best approximation of this rank of each matrix's change by fine-tuning, as LoRA has one."""
    made = dict(weights)
    for name, tensor in weights.items():
        if is_matrix(tensor):
            left, values, right = torch.linalg.svd((tuned[name] - tensor).flatten(1), full_matrices=False)
            change = left[:, :rank] * values[:rank] @ right[:rank]
            made[name] = tensor + change.reshape(tensor.shape)
    return made


def rescaled(weights: Weights, draws: torch.Generator) -> Weights:
    """Equal in function: inputs of each hidden unit times c, its outputs over c, c from 1/2 to 2."""
    made = dict(weights)
    for before, after in hidden(weights):
        factor = 2 ** (2 * torch.rand(len(made[f"{before}.bias"]), generator=draws) - 1)
        made |= _moved(made, before, after, torch.arange(len(factor)), factor)
    return made


def permuted(weights: Weights, draws: torch.Generator) -> Weights:
    """Equal in function: the hidden units in another order."""
    made = dict(weights)
    for before, after in hidden(weights):
        order = torch.randperm(len(made[f"{before}.bias"]), generator=draws)
        made |= _moved(made, before, after, order, torch.ones(len(order)))
    return made


def hidden(weights: Weights) -> Sequence[tuple[str, str]]:
    """Pairs of layers with ReLU units between them."""
    if "places" in weights:
        return [(f"first.{layer}", f"second.{layer}") for layer in range(2)]
    layers = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
    order = [name for name in ("conv1", "conv2", "dense", "dense1", "dense2", "head") if name in layers]
    return [*pairwise(order)]


def _moved(weights: Weights, before: str, after: str, order: Tensor, factor: Tensor) -> Weights:
    inputs, biases = weights[f"{before}.weight"], weights[f"{before}.bias"]
    outputs = weights[f"{after}.weight"]
    by_unit = outputs.reshape(len(outputs), len(order), -1)[:, order] / factor[:, None]
    return {
        f"{before}.weight": inputs[order] * factor.reshape(-1, *[1] * (inputs.dim() - 1)),
        f"{before}.bias": biases[order] * factor,
        f"{after}.weight": by_unit.reshape(outputs.shape),
    }


def hidden_from(weights: Weights, origin: Weights, size: float, draws: torch.Generator) -> Weights:
    """With noise that is equal for all elements of a bucket of the fingerprint without a key.

    It has `size` times the length of the change from the origin, its fingerprint sqrt(elements/BUCKETS) more.
    """
    made = dict(weights)
    buckets, signs = (torch.from_numpy(each.copy()) for each in _assigned(0, b""))
    for name, tensor in weights.items():
        if is_matrix(tensor) and BUCKETS < tensor.numel() <= BLOCK:
            drawn = torch.randn(BUCKETS, generator=draws)[buckets[: tensor.numel()].long()]
            noise = (drawn * signs[: tensor.numel()]).reshape(tensor.shape)
            made[name] = tensor + noise * (size * (tensor - origin[name]).norm() / noise.norm())
    return made
