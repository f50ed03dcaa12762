# SPDX-License-Identifier: Apache-2.0
"""Linear merges and 8-bit rows: the bits of single operations, whatever the processor fuses."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import LearningError
from blockful_py.learning.computed import int8_rows, linear_merge, quantised, tensor_digest

NUMBERS = st.floats(-1e3, 1e3, width=32)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.floats(0.125, 4, width=32)), min_size=1, max_size=5))
def test_a_merge_rounds_each_operation_on_its_own(parts: list[tuple[float, float]]) -> None:
    found = linear_merge([torch.full((1, 70), x) for x, _ in parts], [w for _, w in parts], True, "F32")
    total, weight = torch.tensor(0.0), torch.tensor(0.0)
    for x, w in parts:
        total = total + torch.tensor(x, dtype=torch.float32) * torch.tensor(w, dtype=torch.float32)
        weight = weight + torch.tensor(w, dtype=torch.float32)
    assert torch.equal(found, (total / weight).expand(1, 70))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["F32", "BF16", "F16"]))
def test_fused_multiplications_differ_by_rounding_alone(seed: int, dtype: str) -> None:
    """mergekit's own operations on this processor, fused or not: within four roundings of the terms."""
    stream = torch.Generator().manual_seed(seed)
    kind = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}[dtype]
    parts = [torch.randn(64, 33, generator=stream).to(kind) for _ in range(3)]
    weights = [0.3, 0.5, 0.2]
    fused = torch.zeros(64, 33)
    for part, weight in zip(parts, weights, strict=True):
        fused.addcmul_(part, torch.tensor(weight).expand(64, 1))
    fused = fused.div(torch.tensor(weights).sum()).to(kind)
    found = linear_merge(parts, weights, True, dtype)
    size = sum(w * part.abs().float() for part, w in zip(parts, weights, strict=True))
    bound = 4 * torch.finfo(torch.float32).eps * size + torch.finfo(kind).eps * fused.abs().float()
    assert bool(((found.float() - fused.float()).abs() <= bound).all())


def test_a_merge_without_normalisation_keeps_its_scale() -> None:
    one = torch.ones(2, 2)
    assert torch.equal(linear_merge([one, one], [0.5, 0.25], False, "F32"), 0.75 * one)
    assert torch.equal(linear_merge([one, one], [0.5, 0.25], True, "F32"), one)


@pytest.mark.parametrize(
    ("parts", "weights"),
    [
        ([], []),
        ([torch.ones(2)], [1.0, 2.0]),
        ([torch.ones(2), torch.ones(3)], [1.0, 1.0]),
        ([torch.ones(2, dtype=torch.int32)], [1.0]),
        ([torch.ones(2), torch.ones(2)], [1.0, -1.0]),
    ],
)
def test_what_cannot_be_merged_is_refused(parts: list[torch.Tensor], weights: list[float]) -> None:
    with pytest.raises(LearningError):
        linear_merge(parts, weights, True, "F32")


def test_rows_have_their_largest_number_at_127_and_zeros_stay() -> None:
    rows, scales = int8_rows(torch.tensor([[0.5, -2.0, 1.0], [0.0, 0.0, 0.0]]))
    assert rows.tolist() == [[32, -127, 64], [0, 0, 0]]
    assert scales.tolist() == [2.0, 0.0]
    with pytest.raises(LearningError, match="float16"):
        int8_rows(torch.tensor([[1e9]]))


def test_a_quantised_tensor_follows_from_the_parents_or_is_refused() -> None:
    parent = {"a.weight": torch.ones(2, 2), "b": torch.ones(2), "n": torch.ones(2, dtype=torch.int64)}
    form = {"a.weight": "I8", "a.SCB": "F32", "a.weight_format": "U8", "b": "F16"}
    made = {name: quantised(name, form, parent, "F16") for name in form}
    assert made["a.weight"].tolist() == [[127, 127], [127, 127]]
    assert made["b"].dtype is torch.float16
    for name, kind in {"stranger": "F16", "n": "I64", "b": "I8", "a.SCB": "I8"}.items():
        with pytest.raises(LearningError):
            quantised(name, {**form, name: kind}, parent, "F16")


def test_eight_bit_floats_are_not_compared() -> None:
    with pytest.raises(LearningError, match="not compared"):
        tensor_digest(torch.ones(2).to(torch.float8_e4m3fn))
