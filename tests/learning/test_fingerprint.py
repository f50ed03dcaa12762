# SPDX-License-Identifier: Apache-2.0
"""Fingerprints keep inner products, and find models that share weights."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning.fingerprint import BLOCK, BUCKETS, KnownFingerprints, fingerprint, similarity

SHAPES = {"embed": (50, 32), "conv": (16, 4, 3, 3), "dense": (64, 48), "head": (48, 10), "bias": (10,)}


def model(seed: int, **shapes: tuple[int, ...]) -> dict[str, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=draws) for name, shape in {**SHAPES, **shapes}.items()}


def rounded(tensor: Tensor) -> Tensor:
    """8-bit integers, as quantisation by the largest weight gives them."""
    return (tensor / tensor.abs().max() * 127).round().to(torch.int8)


def test_two_parties_compute_the_same_bytes() -> None:
    found = fingerprint({"w": torch.arange(1200, dtype=torch.float32).reshape(30, 40) / 7})
    digest = sha256(found.vector.astype("<f4").tobytes()).hexdigest()
    assert digest == "351660c13c8dea91242b39bc060502f296ba27aa264071d5dcea9240762e664c"


def test_sketches_keep_inner_products() -> None:
    draws = torch.Generator().manual_seed(1)
    errors = []
    for _ in range(50):
        left, right = (torch.randn(100, 100, generator=draws) for _ in range(2))
        right = right + left
        of = [fingerprint({"w": each}).vector for each in (left, right)]
        exact = float(((left - left.mean()) * (right - right.mean())).sum())
        errors.append((of[0] @ of[1] - exact) / float(left.norm() * right.norm()))
    assert np.sqrt(np.mean(np.square(errors))) < 2 / np.sqrt(BUCKETS)
    assert abs(np.mean(errors)) < 1 / np.sqrt(BUCKETS)


def test_a_tensor_of_several_blocks_is_the_sum_of_them() -> None:
    long = torch.randn(2, BLOCK, generator=torch.Generator().manual_seed(2))
    long -= long.mean()
    halves = [long * torch.tensor([[1.0], [0.0]]), long * torch.tensor([[0.0], [1.0]])]
    whole, first, second = (fingerprint({"w": each}).vector for each in (long, *halves))
    assert np.allclose(whole, first + second, atol=1e-3 * np.abs(whole).max())
    assert abs(first @ second) < 0.2 * np.linalg.norm(first) * np.linalg.norm(second)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_the_type_of_the_numbers_does_not_matter(dtype: torch.dtype) -> None:
    kept = model(0)
    cast = {name: tensor.to(dtype) for name, tensor in kept.items()}
    assert similarity(fingerprint(kept), fingerprint(cast)) > 0.999


def test_a_model_is_known_after_quantisation_pruning_noise_and_a_new_head() -> None:
    kept = model(0)
    changed = {
        "quantised": {name: rounded(tensor) for name, tensor in kept.items()},
        "pruned": {name: t * (t.abs() > t.abs().median()) for name, t in kept.items()},
        "noisy": {name: t + torch.randn(t.shape, generator=torch.Generator()) for name, t in kept.items()},
        "headless": {**kept, "head": torch.zeros(48, 3), "further": torch.zeros(9, 9)},
    }
    known = KnownFingerprints({f"m{seed}": fingerprint(model(seed)) for seed in range(20)})
    for name, weights in changed.items():
        found = known.similarities(fingerprint(weights))
        assert max(found, key=lambda each: found[each]) == "m0", name
        assert found["m0"] > 0.6 and max(value for each, value in found.items() if each != "m0") < 0.15, name


def test_models_without_a_common_tensor_are_not_similar() -> None:
    left, right = fingerprint(model(0)), fingerprint({"other": torch.ones(3, 4)})
    assert similarity(left, right) == 0.0
    assert KnownFingerprints({"left": left}).similarities(right) == {}
    assert similarity(fingerprint({"bias": torch.ones(3)}), left) == 0.0


def test_a_small_common_tensor_tells_nothing() -> None:
    left, right = model(0), model(1, body=(64, 64))
    shared = {"head": torch.eye(48, 10)}
    assert similarity(fingerprint({**left, **shared}), fingerprint({"body": right["body"], **shared})) == 0.0


def test_equal_numbers_in_a_tensor_resemble_nothing() -> None:
    assert similarity(fingerprint({"w": torch.ones(40, 40)}), fingerprint({"w": torch.ones(40, 40)})) == 0.0


def test_another_key_gives_another_fingerprint() -> None:
    kept = {"w": torch.randn(64, 64, generator=torch.Generator())}
    assert abs(similarity(fingerprint(kept), fingerprint(kept, b"mine"))) < 0.3


def test_weights_that_are_not_finite_are_refused() -> None:
    with pytest.raises(LearningError, match="NaN or infinite values in 'w'"):
        fingerprint({"w": torch.full((3, 3), torch.nan)})
