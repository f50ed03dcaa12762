# SPDX-License-Identifier: Apache-2.0
"""Canonical weights say the same, and are the same however their owner scaled them."""

from __future__ import annotations

import pytest
import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.models import Architecture
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.canonical import _followed, canonical, peaks, uneven

EVEN = [("cnn", (1, 8, 8)), ("mlp", (13,)), ("alexnet", (3, 8, 8)), ("resnet18", (3, 8, 8))]
CPU = torch.device("cpu")


def drawn(architecture: Architecture, seed: int) -> Weights:
    """Initial weights, moved so that running statistics, too, are others than 0 and 1."""
    stream = torch.Generator().manual_seed(seed)
    return {
        name: tensor + 0.1 * torch.rand(tensor.shape, generator=stream)
        if tensor.is_floating_point()
        else tensor
        for name, tensor in architecture.initial(stream).items()
    }


def said(architecture: Architecture, weights: Weights, samples: Samples) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = architecture.module(weights, CPU).eval()(samples.x)
    return found


def inputs(shape: tuple[int, ...]) -> Samples:
    x = torch.randn(12, *shape, generator=torch.Generator().manual_seed(7))
    return Samples(x, torch.zeros(12, dtype=torch.int64))


@pytest.mark.parametrize(("name", "shape"), EVEN)
def test_every_hidden_unit_gets_the_largest_activation_of_another_model(
    name: str, shape: tuple[int, ...]
) -> None:
    architecture, samples = Architecture(name, shape, 10), inputs(shape)
    weights, wanted = drawn(architecture, 1), peaks(architecture, drawn(architecture, 2), samples)
    found = canonical(architecture, weights, samples, wanted)
    assert uneven(architecture, weights, samples) == ()
    before, after = (said(architecture, each, samples) for each in (weights, found))
    assert torch.allclose(before, after, rtol=1e-3, atol=1e-4 * float(before.abs().max()))
    for units, peak in zip(_followed(architecture, found, samples).hidden(), wanted, strict=True):
        active = units.peaks[units.peaks > 0]
        assert torch.allclose(active, torch.full_like(active, peak), rtol=1e-3)


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_batch_normalisation_can_hide_no_scale(shift: float) -> None:
    """The convolution, its running statistics, and the weights behind it are scaled, channel by channel."""
    architecture, samples = Architecture("resnet18", (3, 8, 8), 10), inputs((3, 8, 8))
    weights = drawn(architecture, 1)
    scale = torch.linspace(0.2, 5, 64)
    other = dict(weights)
    other["conv.weight"] = weights["conv.weight"] * scale.view(-1, 1, 1, 1)
    other["norm.running_mean"] = weights["norm.running_mean"] * scale + shift * scale
    weights["norm.running_mean"] += shift
    other["norm.running_var"] = (weights["norm.running_var"] + 1e-5) * scale**2 - 1e-5
    wanted = peaks(architecture, drawn(architecture, 2), samples)
    found, again = (canonical(architecture, each, samples, wanted) for each in (weights, other))
    for key, tensor in found.items():
        assert torch.allclose(tensor.double(), again[key].double(), rtol=1e-3, atol=1e-5), key


@pytest.mark.parametrize(
    ("architecture", "samples", "named"),
    [
        (
            Architecture("resnet18", (3, 8, 8), 10, options=(("norm", "group"),)),
            inputs((3, 8, 8)),
            "norm.weight",
        ),
        (
            Architecture("gcnn", (6,), 3, vocabulary=9),
            Samples(torch.arange(24).view(4, 6) % 9, torch.zeros(4, dtype=torch.int64)),
            "conv1.weight",
        ),
    ],
    ids=["group normalisation", "gates"],
)
def test_weights_that_no_rule_evens_out_are_named_and_stay(
    architecture: Architecture, samples: Samples, named: str
) -> None:
    weights = architecture.initial(torch.Generator().manual_seed(1))
    assert named in uneven(architecture, weights, samples)
    found = canonical(architecture, weights, samples, peaks(architecture, weights, samples))
    assert torch.equal(found[named], weights[named])


def test_weights_on_inputs_that_are_always_zero_move_nothing() -> None:
    architecture, samples = Architecture("mlp", (13,), 10), inputs((13,))
    samples.x[:, 0] = 0
    weights, wanted = drawn(architecture, 1), peaks(architecture, drawn(architecture, 2), samples)
    other = dict(weights) | {"dense1.weight": weights["dense1.weight"].clone()}
    other["dense1.weight"][:, 0] += 1e3
    found, again = (canonical(architecture, each, samples, wanted) for each in (weights, other))
    assert torch.equal(found["dense1.weight"][:, 1:], again["dense1.weight"][:, 1:])
    assert torch.equal(found["dense2.weight"], again["dense2.weight"])


def test_a_layer_that_is_all_dead_in_the_other_model_stays() -> None:
    architecture, samples = Architecture("mlp", (13,), 10), inputs((13,))
    dead = drawn(architecture, 2)
    dead["dense2.bias"] -= 1e3
    weights, wanted = drawn(architecture, 1), peaks(architecture, dead, samples)
    assert wanted[1] == 0
    before, after = (
        said(architecture, each, samples)
        for each in (weights, canonical(architecture, weights, samples, wanted))
    )
    assert torch.allclose(before, after, rtol=1e-3, atol=1e-4)
