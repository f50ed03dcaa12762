# SPDX-License-Identifier: Apache-2.0
"""Low-rank adapters applied to their base: exact sums in the order of the rank, and what is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import LearningError
from blockful_py.learning.adapters import AdaptedTensors, product
from blockful_py.learning.weights import Weights

LAYER = "base_model.model.model.layers.0.q_proj"
NAME = "model.layers.0.q_proj.weight"


def _adapter(rank: int = 2, dtype: torch.dtype = torch.float32, seed: int = 0) -> dict[str, torch.Tensor]:
    stream = torch.Generator().manual_seed(seed)
    down, up = torch.randn(rank, 5, generator=stream), torch.randn(3, rank, generator=stream)
    return {f"{LAYER}.lora_A.weight": down.to(dtype), f"{LAYER}.lora_B.weight": up.to(dtype)}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))
def test_a_layer_gets_its_change_and_others_stay(seed: int, dtype: torch.dtype) -> None:
    stream = torch.Generator().manual_seed(seed)
    base = {NAME: torch.randn(3, 5, generator=stream).to(dtype), "norm": torch.ones(3)}
    adapter = _adapter(4, dtype, seed)
    found = AdaptedTensors(base, adapter, 0.5)
    assert [*found] == [*base]
    assert found["norm"] is base["norm"]
    assert found[NAME].dtype is dtype
    down, up = (adapter[f"{LAYER}.lora_{each}.weight"].double() for each in "AB")
    whole = base[NAME].double() + 0.5 * (up @ down)
    assert torch.allclose(found[NAME].double(), whole, rtol=torch.finfo(dtype).eps, atol=1e-12)


def test_the_sum_runs_in_the_order_of_the_rank() -> None:
    """In float64 2^53 + 1 is 2^53, so (2^53 + 1) - 2^53 is 0, and (2^53 - 2^53) + 1 is 1."""
    up = torch.tensor([[2.0**53, 1.0, -(2.0**53)], [2.0**53, -(2.0**53), 1.0]])
    assert product(up, torch.ones(3, 1)).flatten().tolist() == [0.0, 1.0]


def test_products_of_the_factors_are_exact() -> None:
    up, down = torch.tensor([[1 + 2.0**-23]]), torch.tensor([[1 + 2.0**-23]])
    assert product(up, down).item() == 1 + 2.0**-22 + 2.0**-46


@pytest.mark.parametrize(
    ("base", "adapter", "said"),
    [
        ({NAME: torch.ones(3, 4)}, _adapter(), "another shape"),
        ({NAME: torch.ones(15)}, _adapter(), "another shape"),
        ({"other": torch.ones(3, 5)}, _adapter(), "its base does not have"),
        ({NAME: torch.ones(3, 5)}, _adapter(dtype=torch.float64), "wider than float32"),
        ({NAME: torch.ones(3, 5)}, _adapter() | {f"{LAYER}.lora_A.weight": torch.ones(3, 5)}, "ranks"),
        ({NAME: torch.ones(3, 5)}, _adapter() | {f"{LAYER}.lora_magnitude": torch.ones(3)}, "none of a pair"),
        ({NAME: torch.ones(3, 5)}, dict([*_adapter().items()][:1]), "none of a pair"),
    ],
)
def test_other_adapters_are_refused(base: Weights, adapter: Weights, said: str) -> None:
    with pytest.raises(LearningError, match=said):
        AdaptedTensors(base, adapter, 1.0)[NAME]


def test_a_layer_that_is_there_twice_is_refused() -> None:
    """Which of the two counted would depend on the process."""
    adapter = _adapter()
    adapter |= {name.removeprefix("base_model.model."): tensor for name, tensor in _adapter(seed=1).items()}
    with pytest.raises(LearningError, match="has a layer twice"):
        AdaptedTensors({NAME: torch.zeros(3, 5)}, adapter, 1.0)
