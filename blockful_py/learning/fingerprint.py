# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of weights, and the known models that a model comes from.

A fingerprint is a linear sketch (count sketch, Charikar et al. 2002) of each tensor of two or more
dimensions.  It keeps inner products: <sketch(x), sketch(y)> = <x, y>, up to |x| |y| / sqrt(BUCKETS).  So
fingerprints can be subtracted, averaged and regressed on each other like the weights, and survive all
changes that leave most of the weights alone.  docs/explanation/descent.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from blockful_py.learning.tensor_parts import forms_of, parts_of
from blockful_py.learning.weights import Weights, require_finite

BUCKETS = 512
"""Numbers in the sketch of a tensor; one with no more elements is kept whole, but for its mean."""
TINY = 1e-30
"""Stands in for the length of a sketch that is 0."""
BLOCK = 2**20
"""Elements sketched at a time."""
RULE = b"blockful descent 1"
"""The rule that assigns elements to buckets; another rule gives other fingerprints."""

Key = tuple[str, tuple[int, ...]]
"""A tensor's name and shape."""
Sketch = NDArray[np.float32]
"""float32 (min(elements, BUCKETS),)."""
Vector = NDArray[np.float64]
"""float64 (D,): all sketches of a fingerprint."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightsFingerprint:
    """A model's sketches, by tensor, in ascending order."""

    sketches: Mapping[Key, Sketch]

    @property
    def vector(self) -> Vector:
        """The sketches one after the other."""
        return np.concatenate([np.zeros(0), *self.sketches.values()])


def fingerprint(weights: Weights, key: bytes = b"") -> WeightsFingerprint:
    """The fingerprint of a state dict; equal weights and keys give equal bytes on every machine.

    Args:
        key: draws the buckets.  Somebody who knows it can make a copy whose fingerprint differs much more
            than its weights do; so members draw their own.

    Raises LearningError: a weight is NaN or infinite.
    """
    require_finite(weights, "a model")
    named = {(name, form.shape): form.count for name, form in forms_of(weights).items()}
    return WeightsFingerprint(
        {
            each: _sketch(weights, each[0], named[each], key)
            for each in sorted(named)
            if len(each[1]) > 1 and named[each]
        }
    )


def similarity(left: WeightsFingerprint, right: WeightsFingerprint) -> float:
    """Mean cosine of the tensors that both have by name and shape, weighted by the sizes of their sketches.

    1 for equal and for scaled models, about 0 for independent ones, 0 if they share too little to tell.
    """
    return KnownFingerprints({"": left}).similarities(right).get("", 0.0)


class KnownFingerprints:
    """Fingerprints by model, which a matrix product for each architecture compares with another one."""

    def __init__(self, known: Mapping[str, WeightsFingerprint]) -> None:
        self.fingerprints = known
        named: dict[tuple[Key, ...], list[str]] = {}
        for name, each in known.items():
            named.setdefault(tuple(each.sketches), []).append(name)
        self._groups = [
            (form, names, _units([known[name] for name in names], form))
            for form, names in named.items()
            if form
        ]

    def similarities(self, model: WeightsFingerprint) -> dict[str, float]:
        """The `similarity` of a model to each known one with which it shares BUCKETS or more numbers."""
        found = dict[str, float]()
        for form, names, rows in self._groups:
            shared = sum(len(model.sketches[key]) for key in form if key in model.sketches)
            if shared >= BUCKETS:
                similar = rows @ _units([model], form)[0] / shared
                found.update(zip(names, similar.tolist(), strict=True))
        return found


def _units(models: Sequence[WeightsFingerprint], form: Sequence[Key]) -> Sketch:
    """The sketches of these tensors, (n, D), each of the length sqrt(its size); 0 for those a model lacks."""
    parts = []
    for key in form:
        none = np.zeros(min(prod(key[1]), BUCKETS), np.float32)
        sketches = np.stack([model.sketches.get(key, none) for model in models])
        lengths = np.linalg.norm(sketches, axis=1, keepdims=True)
        parts.append(sketches * (np.sqrt(len(none)) / np.maximum(lengths, TINY)).astype(np.float32))
    return np.concatenate(parts, axis=1)


def _sketch(weights: Weights, name: str, size: int, key: bytes) -> Sketch:
    """The sketch of a tensor of `size` elements less its mean, in which unrelated models resemble each other.

    All sums run in order, as `bincount` does it, so that their bits depend on no machine.
    """
    one = np.zeros(BLOCK, np.int64)
    mean = sum(float(np.bincount(one[: len(each)], each)[0]) for each in _blocks(weights, name)) / size
    if size <= BUCKETS:
        return (next(_blocks(weights, name)) - mean).astype(np.float32)
    total = np.zeros(BUCKETS)
    for number, block in enumerate(_blocks(weights, name)):
        buckets, signs = _assigned(number, key)
        total += np.bincount(buckets[: len(block)], (block - mean) * signs[: len(block)], BUCKETS)
    return total.astype(np.float32)


def _blocks(weights: Weights, name: str) -> Iterator[Vector]:
    for block in parts_of(weights, name, BLOCK):
        yield block.to(torch.float64).cpu().numpy()


@lru_cache(maxsize=4)
def _assigned(block: int, key: bytes) -> tuple[NDArray[np.int16], NDArray[np.int8]]:
    """Buckets and signs (BLOCK,) of a block's elements, from Philox with 16 bits each."""
    seed = sha256(RULE + block.to_bytes(8, "big") + key).digest()
    words = np.random.Philox(key=int.from_bytes(seed[:16], "big")).random_raw(BLOCK // 4)
    bits = words.astype("<u8").view("<u2")
    return (bits % BUCKETS).astype(np.int16), np.where(bits >> 15, 1, -1).astype(np.int8)
