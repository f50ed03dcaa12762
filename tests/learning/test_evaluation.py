# SPDX-License-Identifier: Apache-2.0
"""A network scores samples in batches as it scores them at once."""

from __future__ import annotations

import pytest
import torch

from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import CPU_BATCH, hits, outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.stacked import stacks_well
from blockful_py.learning.streams import generator

CPU = torch.device("cpu")
LARGE = Architecture("cnn", (3, 20, 20), 10)


@pytest.mark.parametrize("count", [1, CPU_BATCH, 2 * CPU_BATCH + 3])
def test_outputs_are_those_of_all_samples_at_once_in_their_order(count: int) -> None:
    x = torch.randn(count, *LARGE.input_shape, generator=generator(1))
    module = LARGE.module(LARGE.initial(generator(0)), CPU).eval()
    with torch.inference_mode():
        expected = module(x)
        assert torch.allclose(outputs(module, x), expected, atol=1e-5)


def test_models_that_do_not_stack_are_scored_one_by_one() -> None:
    assert not stacks_well(LARGE, CPU)
    x = torch.randn(CPU_BATCH + 5, *LARGE.input_shape, generator=generator(1))
    models = {str(i): LARGE.initial(generator(i)) for i in range(2)}
    said = {name: LARGE.module(weights, CPU).eval()(x).argmax(1) for name, weights in models.items()}
    found = hits(LARGE, models, Samples(x, said["0"]))
    assert found["0"].tolist() == [1.0] * len(x)
    assert found["1"].tolist() == (said["1"] == said["0"]).double().tolist()
    assert 0 in found["1"]
