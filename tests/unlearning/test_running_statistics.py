# SPDX-License-Identifier: Apache-2.0
"""Networks with batch normalisation: what aggregation and passing do with their running statistics."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights, aggregate, flatten, with_sound_variances
from blockful_py.unlearning.propagation import delta, moved, propagate

CPU = torch.device("cpu")
BATCHED = Architecture("mobilenet_v2", (1, 8, 8), 3)
COUNTER, MEAN, VARIANCE = (f"norm1.{kind}" for kind in ("num_batches_tracked", "running_mean", "running_var"))


def used(seed: int, batches: int) -> Weights:
    """Weights of a network that has seen some batches."""
    module = BATCHED.module(BATCHED.initial(generator(seed)), CPU).train()
    with torch.no_grad():
        for batch in range(batches):
            module(torch.rand(4, 1, 8, 8, generator=generator(seed, batch)))
    return {name: tensor.clone() for name, tensor in sorted(module.state_dict().items())}


@pytest.fixture(scope="module")
def models() -> dict[str, Weights]:
    return {"s": used(0, 2), "y": used(1, 3)}


def test_an_aggregate_has_the_mean_statistics_and_the_first_count(models: dict[str, Weights]) -> None:
    merged = aggregate([models["s"], models["y"]])
    assert merged[COUNTER].item() == 2
    for name in (MEAN, VARIANCE):
        assert torch.allclose(merged[name], (models["s"][name] + models["y"][name]) / 2)
    assert BATCHED.module(merged, CPU)


def test_statistics_are_passed_and_counts_are_not(models: dict[str, Weights]) -> None:
    change = {
        name: tensor + 0.01 if tensor.is_floating_point() else tensor for name, tensor in models["s"].items()
    }
    paths = path_weights(InheritanceGraph.from_references({"s": (), "y": ("s",)}), ["s"])
    new = propagate(models, paths, {"s": delta(models["s"], change)}, 1.0, 0.0).weights["y"]
    assert torch.allclose(new[MEAN], models["y"][MEAN] + 0.01)
    assert torch.allclose(new[VARIANCE], models["y"][VARIANCE] + 0.01)
    assert torch.equal(new[COUNTER], models["y"][COUNTER])


def test_a_variance_never_falls_below_a_quarter_and_the_network_stays_finite(
    models: dict[str, Weights],
) -> None:
    narrower = {
        name: tensor - 10 if name.endswith("running_var") else tensor for name, tensor in models["y"].items()
    }
    new = moved(models["y"], flatten(delta(models["y"], narrower)).astype(np.float64))
    assert torch.equal(new[VARIANCE], models["y"][VARIANCE] / 4)
    assert torch.equal(new[MEAN], models["y"][MEAN])
    x = torch.rand(2, 1, 8, 8, generator=generator(0))
    assert torch.isfinite(BATCHED.module(new, CPU).eval()(x)).all()
    assert not torch.isfinite(BATCHED.module(narrower, CPU).eval()(x)).all()


def test_a_passed_variance_never_falls_below_a_quarter_of_the_old_one(models: dict[str, Weights]) -> None:
    floor = models["y"][VARIANCE] / 4
    change = delta(models["s"], {name: tensor - 10 for name, tensor in models["s"].items()})
    paths = path_weights(InheritanceGraph.from_references({"s": (), "y": ("s",)}), ["s"])
    new = propagate(models, paths, {"s": change}, 1.0, 0.0).weights["y"]
    assert torch.equal(new[VARIANCE], floor)


def test_networks_without_statistics_are_moved_as_they_are() -> None:
    cnn = Architecture("cnn", (1, 8, 8), 3).initial(generator(0))
    change = {name: tensor - 100 for name, tensor in cnn.items()}
    assert with_sound_variances(change, cnn) == change
